// Which knobs matter, which values were good, and which knobs act together.
#include "tuner/report/charts.h"
#include "tuner/report/page_parts.h"
#include "tuner/report/svg.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace lathe::report {
namespace {

constexpr double row_height = 22;
constexpr std::size_t pairs_shown = 3;
constexpr std::size_t effects_shown = 3;

std::string percent(double share) {
  return share > 0 && share < 0.005 ? "< 1 %" : fmt::format("{:.0f} %", 100 * share);
}

std::vector<std::size_t> by_share(const Importance& importance) {
  std::vector<std::size_t> order(importance.knobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t k) { return importance.knobs[k].share; });
  return order;
}

std::string pair_name(const Importance& importance, const PairEffect& pair) {
  return importance.knobs[pair.first].name + " × " + importance.knobs[pair.second].name;
}

std::string shortened(const std::string& name, std::size_t limit) {
  return name.size() <= limit ? name : name.substr(0, limit - 1) + "…";
}

// How much faster or slower than the mean, as a colour: blue is faster, orange slower.
void colour_cell(Drawing& drawing, double x, double y, double width, double height, double relative,
                 double extreme, const std::string& tip) {
  const double strength = extreme > 0 ? std::min(1.0, std::abs(std::log(relative)) / extreme) : 0;
  drawing.rectangle(x, y, width, height, relative <= 1 ? "cell" : "slow", tip, 0.08 + 0.87 * strength);
}

} // namespace

std::string importance_chart(const std::string& id, const Importance& importance) {
  const std::string title = "Which knobs matter here";
  struct Bar {
    std::string name, css_class;
    double share;
  };
  std::vector<Bar> bars;
  double rest = 1;
  for (const std::size_t k : by_share(importance)) {
    bars.push_back({importance.knobs[k].name, "tuned", importance.knobs[k].share});
    rest -= importance.knobs[k].share;
  }
  for (std::size_t i = 0; i < std::min(pairs_shown, importance.pairs.size()); ++i) {
    bars.push_back({pair_name(importance, importance.pairs[i]), "pair", importance.pairs[i].share});
    rest -= importance.pairs[i].share;
  }
  bars.push_back({"other combinations", "rest", std::max(0.0, rest)});
  constexpr double width = 400, left = 166, right = 44;
  const double height = static_cast<double>(bars.size()) * row_height + 6;
  double largest = 0.01;
  for (const Bar& bar : bars)
    largest = std::max(largest, bar.share);
  const Scale x(0, largest, left, width - right, false);
  Drawing drawing(width, height);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = static_cast<double>(i) * row_height + 3;
    drawing.text(left - 8, y + 15, shortened(bars[i].name, 22), "name", Anchor::end);
    drawing.rectangle(left, y + 3, std::max(1.0, x(bars[i].share) - left), row_height - 7, bars[i].css_class,
                      bars[i].name + ": " + percent(bars[i].share));
    drawing.text(std::max(left + 1, x(bars[i].share)) + 6, y + 15, percent(bars[i].share), "tick");
    rows.push_back({escape(bars[i].name), escape(percent(bars[i].share))});
  }
  std::string remark = fmt::format(
      "Share of the variance of log(time), by functional ANOVA of a random forest (Hutter et al., 2014) over "
      "{} configurations. The forest explains {:.0f} % of what it was not fitted to.",
      importance.configurations, 100 * importance.explained);
  if (importance.explained < 0.5)
    remark += " <b>That is little: take the shares as hints.</b>";
  return figure(title, {},
                drawing.svg(id, title, "Share of the variance of the time by knob and pair of knobs."),
                remark, table("Importance of knobs", {"knob", "share"}, rows));
}

std::string effects_chart(const std::string& id, const Importance& importance) {
  const std::string title = "Values of the strongest knobs";
  const std::vector<std::size_t> order = by_share(importance);
  const std::size_t shown = std::min(effects_shown, order.size());
  constexpr double width = 400, panel = 92, left = 48, right = 10;
  const double height = static_cast<double>(shown) * panel;
  Drawing drawing(width, height);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < shown; ++i) {
    const KnobEffect& effect = importance.knobs[order[i]];
    const auto [least, most] = std::ranges::minmax(effect.relative_time);
    const double top = static_cast<double>(i) * panel + 22, bottom = static_cast<double>(i + 1) * panel - 20;
    const Scale y(least * 0.97, most * 1.03, bottom, top, true);
    const double step = (width - left - right) / static_cast<double>(effect.values.size());
    drawing.text(left, top - 8, effect.name, "name");
    drawing.line(left, bottom, width - right, bottom, "axis");
    if (least < 1 && most > 1)
      drawing.line(left, y(1), width - right, y(1), "grid");
    drawing.text(left - 6, y(most) + 4, short_number(most) + "×", "tick", Anchor::end);
    if (y(least) - y(most) > 12)
      drawing.text(left - 6, y(least) + 4, short_number(least) + "×", "tick", Anchor::end);
    for (std::size_t v = 0; v < effect.values.size(); ++v) {
      const double at = left + (static_cast<double>(v) + 0.5) * step;
      const std::string value = to_string(effect.values[v]);
      const bool best = effect.relative_time[v] == least;
      drawing.line(at, bottom, at, y(effect.relative_time[v]), "link");
      drawing.circle(at, y(effect.relative_time[v]), 4, best ? "tuned" : "floor",
                     fmt::format("{} = {}: {} times the mean", effect.name, value,
                                 short_number(effect.relative_time[v])));
      const std::size_t every = 1 + effect.values.size() / 13;
      if (v % every == 0)
        drawing.text(at, bottom + 14, shortened(value, step < 34 ? 5 : 12), "tick", Anchor::middle);
      rows.push_back({escape(effect.name + " = " + value), short_number(effect.relative_time[v])});
    }
  }
  return figure(
      title, {{"tuned", "the fastest value"}},
      drawing.svg(id, title, "Predicted time of each value relative to the mean."),
      "Predicted time relative to the mean, averaged over all values of the other knobs. Lower is faster.",
      table("Predicted relative time by value", {"value", "time / mean"}, rows));
}

std::string interaction_chart(const std::string& id, const Importance& importance) {
  if (importance.pairs.empty() || importance.grid.empty())
    return "";
  const PairEffect& pair = importance.pairs.front();
  const KnobEffect &down = importance.knobs[pair.first], &across = importance.knobs[pair.second];
  const std::string title = "Together: " + pair_name(importance, pair);
  constexpr double width = 400, left = 52, right = 8, top = 6, bottom = 38;
  const double cell_height = std::clamp(230 / static_cast<double>(down.values.size()), 12.0, 26.0);
  const double height = top + bottom + cell_height * static_cast<double>(down.values.size());
  const double cell_width = (width - left - right) / static_cast<double>(across.values.size());
  double extreme = 0;
  for (const double value : importance.grid)
    extreme = std::max(extreme, std::abs(std::log(value)));
  const auto best =
      static_cast<std::size_t>(std::ranges::min_element(importance.grid) - importance.grid.begin());
  Drawing drawing(width, height);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < down.values.size(); ++i) {
    const double y = top + static_cast<double>(i) * cell_height;
    drawing.text(left - 5, y + cell_height / 2 + 4, shortened(to_string(down.values[i]), 6), "tick",
                 Anchor::end);
    Row row{escape(to_string(down.values[i]))};
    for (std::size_t j = 0; j < across.values.size(); ++j) {
      const double relative = importance.grid[i * across.values.size() + j];
      const double x = left + static_cast<double>(j) * cell_width;
      colour_cell(drawing, x, y, cell_width - 1, cell_height - 1, relative, extreme,
                  fmt::format("{} = {}, {} = {}: {} times the mean", down.name, to_string(down.values[i]),
                              across.name, to_string(across.values[j]), short_number(relative)));
      if (cell_width > 27 && cell_height > 15)
        drawing.text(x + cell_width / 2, y + cell_height / 2 + 4, short_number(relative), "inside",
                     Anchor::middle);
      row.push_back(short_number(relative));
    }
    rows.push_back(std::move(row));
  }
  const std::size_t best_column = best % across.values.size(), best_row = best / across.values.size();
  drawing.rectangle(left + static_cast<double>(best_column) * cell_width,
                    top + static_cast<double>(best_row) * cell_height, cell_width - 1, cell_height - 1,
                    "best");
  std::vector<std::string> headings{escape(down.name) + " \\ " + escape(across.name)};
  const std::size_t every = 1 + across.values.size() / 13;
  for (std::size_t j = 0; j < across.values.size(); ++j) {
    if (j % every == 0)
      drawing.text(left + (static_cast<double>(j) + 0.5) * cell_width, height - bottom + 15,
                   shortened(to_string(across.values[j]), 6), "tick", Anchor::middle);
    headings.push_back(escape(to_string(across.values[j])));
  }
  drawing.text((left + width - right) / 2, height - 5, across.name, "axis-title", Anchor::middle);
  drawing.vertical_text(11, top + (height - top - bottom) / 2, down.name, "axis-title");
  return figure(
      title, {{"tuned", "faster than the mean"}, {"raw", "slower"}},
      drawing.svg(id, title, "Predicted time of each pair of values relative to the mean."),
      fmt::format("The pair that explains most beyond its knobs by themselves ({}). Framed: the fastest. "
                  "Pairs that the conditions forbid are filled in by the model.",
                  escape(percent(pair.share))),
      table(title, headings, rows));
}

std::string importance_heatmap(const std::string& id, const KernelReport& kernel,
                               const std::vector<ProblemImportance>& importances) {
  if (importances.empty())
    return "";
  const std::string title = "Which knobs matter, problem by problem";
  const std::vector<KnobEffect>& knobs = importances.front().importance.knobs;
  constexpr double width = 400, left = 104, right = 8, top = 6, bottom = 38;
  const double height = top + bottom + row_height * static_cast<double>(knobs.size());
  // One more column for the mean.
  const double cell = (width - left - right) / static_cast<double>(importances.size() + 1);
  struct Line {
    std::string name;
    std::vector<double> shares;
    double mean = 0;
  };
  std::vector<Line> lines;
  for (const KnobEffect& knob : knobs) {
    Line line{knob.name, {}, 0};
    for (const ProblemImportance& entry : importances) {
      const auto found = std::ranges::find(entry.importance.knobs, knob.name, &KnobEffect::name);
      line.shares.push_back(found == entry.importance.knobs.end() ? 0 : found->share);
      line.mean += line.shares.back() / static_cast<double>(importances.size());
    }
    lines.push_back(std::move(line));
  }
  std::ranges::stable_sort(lines, std::greater{}, &Line::mean);
  Drawing drawing(width, height);
  std::vector<std::string> headings{"knob", "mean"};
  std::vector<Row> rows;
  for (const ProblemImportance& entry : importances)
    headings.push_back(fmt::format("#{}", entry.problem + 1));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    const double y = top + static_cast<double>(i) * row_height;
    drawing.text(left - 7, y + 15, shortened(line.name, 14), "name", Anchor::end);
    Row row{escape(line.name), escape(percent(line.mean))};
    for (std::size_t j = 0; j <= importances.size(); ++j) {
      const double share = j == 0 ? line.mean : line.shares[j - 1];
      const double x = left + static_cast<double>(j) * cell;
      const std::string where =
          j == 0 ? "mean of all" : kernel.problems[importances[j - 1].problem].key.workload;
      drawing.rectangle(x, y, cell - (j == 0 ? 3 : 1), row_height - 1, "cell",
                        fmt::format("{}, {}: {}", line.name, where, percent(share)), 0.05 + 0.85 * share);
      if (cell >= 17 && share >= 0.095)
        drawing.text(x + cell / 2 - 1, y + 15, fmt::format("{:.0f}", 100 * share), "inside", Anchor::middle);
      if (j > 0)
        row.push_back(escape(percent(share)));
    }
    rows.push_back(std::move(row));
  }
  drawing.text(left + cell / 2 - 1, height - bottom + 14, "all", "tick", Anchor::middle);
  const std::size_t every = 1 + importances.size() / 16;
  for (std::size_t j = 0; j < importances.size(); j += every)
    drawing.text(left + (static_cast<double>(j) + 1.5) * cell, height - bottom + 14,
                 std::to_string(importances[j].problem + 1), "tick", Anchor::middle);
  drawing.text((left + width - right) / 2, height - 5, "number of the problem in the table", "axis-title",
               Anchor::middle);
  return figure(
      title, {},
      drawing.svg(id, title, "Share of the variance of the time that each knob alone explains, in percent."),
      "Share of the variance of log(time) that a knob alone explains, in percent; what is missing to "
      "100 acts only in combinations.",
      table(title, headings, rows));
}

} // namespace lathe::report
