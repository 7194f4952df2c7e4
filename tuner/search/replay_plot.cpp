#include "tuner/search/replay_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace lathe {

namespace {

constexpr double left = 60, top = 40, width = 640, height = 360;
constexpr std::array<const char*, 8> colours = {"#1b6ca8", "#c0392b", "#27864a", "#8e44ad",
                                                "#b9770e", "#16808a", "#5d6d7e", "#a04070"};

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string text_at(double x, double y, const std::string& text, const char* anchor = "start") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(text));
}

} // namespace

std::string plot_replay(const std::vector<PlotCurve>& curves, const std::string& title) {
  std::size_t longest = 2;
  double lowest = 1;
  for (const PlotCurve& curve : curves) {
    longest = std::max(longest, curve.found.size());
    // The first evaluations are far from the optimum: the axis starts where the fifth one is.
    for (const auto* values : {&curve.found, &curve.random})
      if (!values->empty())
        lowest = std::min(lowest, (*values)[std::min<std::size_t>(4, values->size() - 1)]);
  }
  lowest = std::clamp(std::floor(lowest * 10) / 10, 0.0, 0.9);
  const auto x_of = [&](double evaluations) {
    return left + width * std::log(evaluations) / std::log(static_cast<double>(longest));
  };
  const auto y_of = [&](double fraction) {
    return top + height * (1 - (std::max(fraction, lowest) - lowest) / (1 - lowest));
  };
  const double legend = top + height + 50;
  const double bottom = legend + 18 * static_cast<double>(curves.size()) + 10;
  std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
                                "font-family=\"sans-serif\" font-size=\"12\">\n"
                                "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
                                left + width + 30, bottom);
  svg += text_at(left, top - 16, title);
  for (int line = 0; lowest + 0.1 * line < 1.001; ++line) {
    const double fraction = lowest + 0.1 * line;
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}h{:.1f}\" stroke=\"#ddd\"/>\n", left, y_of(fraction), width);
    svg += text_at(left - 6, y_of(fraction) + 4, fmt::format("{:.0f} %", 100 * fraction), "end");
  }
  for (std::size_t mark : {1, 2, 5, 10, 25, 50, 100, 200, 400, 1000, 2000, 5000, 10000})
    if (mark <= longest)
      svg += text_at(x_of(static_cast<double>(mark)), top + height + 16, std::to_string(mark), "middle");
  svg += text_at(left + width / 2, top + height + 34, "evaluations", "middle");
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const char* colour = colours[i % colours.size()];
    for (const bool is_random : {false, true}) {
      const auto& values = is_random ? curves[i].random : curves[i].found;
      std::string path;
      for (std::size_t k = 0; k < values.size(); ++k)
        path +=
            fmt::format("{}{:.1f} {:.1f}", k ? 'L' : 'M', x_of(static_cast<double>(k + 1)), y_of(values[k]));
      svg +=
          fmt::format("<path fill=\"none\" stroke=\"{}\" {} d=\"{}\"/>\n", colour,
                      is_random ? "stroke-dasharray=\"2 3\" opacity=\"0.6\"" : "stroke-width=\"1.6\"", path);
    }
    const double y = legend + 18 * static_cast<double>(i) + 12;
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}h24\" stroke=\"{}\"/>\n", left, y - 4, colour);
    svg += text_at(left + 32, y, curves[i].title);
  }
  return svg + text_at(left + width, legend + 12, "dotted: random search", "end") + "</svg>\n";
}

} // namespace lathe
