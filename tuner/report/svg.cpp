#include "tuner/report/svg.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace lathe::report {

std::string escape(std::string_view text) {
  std::string result;
  for (const char letter : text)
    switch (letter) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    case '\'':
      result += "&#39;";
      break;
    default:
      result += letter;
    }
  return result;
}

std::string short_number(double value) {
  const double size = std::abs(value);
  if (size == 0 || !std::isfinite(value))
    return "0";
  if (size < 1e-3 || size >= 1e7)
    return fmt::format("{:.3g}", value);
  const int before_point = static_cast<int>(std::floor(std::log10(size))) + 1;
  std::string text = fmt::format("{:.{}f}", value, std::max(0, 3 - before_point));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
      text.pop_back();
  }
  return text;
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0"))
    text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

Scale::Scale(double low, double high, double from, double to, bool logarithmic)
    : low_(low), high_(high), from_(from), to_(to), logarithmic_(logarithmic) {
  if (logarithmic_) {
    low_ = std::max(low_, 1e-12);
    if (high_ < low_ * 1.02) {
      low_ /= 1.1;
      high_ = low_ * 1.21;
    }
  } else if (high_ <= low_) {
    high_ = low_ + 1;
  }
}

double Scale::operator()(double value) const {
  const double held = std::clamp(value, low_, high_);
  const double share =
      logarithmic_ ? std::log(held / low_) / std::log(high_ / low_) : (held - low_) / (high_ - low_);
  return from_ + share * (to_ - from_);
}

std::vector<double> Scale::ticks(int wanted) const {
  std::vector<double> values;
  if (logarithmic_) {
    const int first = static_cast<int>(std::floor(std::log10(low_)));
    const int last = static_cast<int>(std::ceil(std::log10(high_)));
    // Whole decades where there are many, else 1, 2 and 5 of each.
    const bool decades = last - first > wanted;
    for (int decade = first; decade <= last; ++decade)
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double value = digit * std::pow(10.0, decade);
        if (value >= low_ * 0.999 && value <= high_ * 1.001 && (digit == 1.0 || !decades))
          values.push_back(value);
      }
    while (values.size() > 2 * static_cast<std::size_t>(wanted)) {
      std::vector<double> fewer;
      for (std::size_t i = 0; i < values.size(); i += 2)
        fewer.push_back(values[i]);
      values = std::move(fewer);
    }
    if (values.size() >= 3)
      return values;
    values.clear();
  }
  const double raw_step = (high_ - low_) / std::max(1, wanted);
  const double magnitude = std::pow(10.0, std::floor(std::log10(raw_step)));
  double step = magnitude;
  for (const double factor : {1.0, 2.0, 2.5, 5.0, 10.0})
    if (factor * magnitude >= raw_step) {
      step = factor * magnitude;
      break;
    }
  for (double value = std::ceil(low_ / step - 1e-9) * step; value <= high_ + step * 1e-9; value += step)
    values.push_back(std::abs(value) < step * 1e-9 ? 0 : value);
  if (values.size() < 2)
    values = {low_, high_};
  return values;
}

namespace {

std::string tip_of(const std::string& tip) {
  return tip.empty() ? std::string("/>") : "><title>" + escape(tip) + "</title>";
}
std::string closing(const std::string& tip, const char* element) {
  return tip.empty() ? std::string() : fmt::format("</{}>", element);
}

} // namespace

void Drawing::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  body_ += fmt::format(R"(<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>)", css_class, coordinate(x1),
                       coordinate(y1), coordinate(x2), coordinate(y2));
}

void Drawing::rectangle(double x, double y, double width, double height, std::string_view css_class,
                        const std::string& tip, double opacity) {
  body_ += fmt::format(R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}"{}{}{})", css_class,
                       coordinate(x), coordinate(y), coordinate(width), coordinate(height),
                       opacity < 1 ? fmt::format(R"( fill-opacity="{:.2f}")", opacity) : std::string(),
                       tip_of(tip), closing(tip, "rect"));
}

void Drawing::circle(double x, double y, double radius, std::string_view css_class, const std::string& tip) {
  body_ += fmt::format(R"(<circle class="{}" cx="{}" cy="{}" r="{}"{}{})", css_class, coordinate(x),
                       coordinate(y), coordinate(radius), tip_of(tip), closing(tip, "circle"));
}

void Drawing::path(const std::string& data, std::string_view css_class) {
  body_ += fmt::format(R"(<path class="{}" d="{}"/>)", css_class, data);
}

void Drawing::text(double x, double y, const std::string& words, std::string_view css_class, Anchor anchor) {
  const char* names[] = {"start", "middle", "end"};
  body_ += fmt::format(R"(<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>)", css_class,
                       coordinate(x), coordinate(y), names[static_cast<int>(anchor)], escape(words));
}

void Drawing::vertical_text(double x, double y, const std::string& words, std::string_view css_class) {
  body_ += fmt::format(
      R"x(<text class="{}" transform="translate({} {}) rotate(-90)" text-anchor="middle">{}</text>)x",
      css_class, coordinate(x), coordinate(y), escape(words));
}

std::string Drawing::svg(const std::string& id, const std::string& title,
                         const std::string& description) const {
  return fmt::format(R"(<svg viewBox="0 0 {0} {1}" role="img" aria-labelledby="{2}-t {2}-d">)"
                     R"(<title id="{2}-t">{3}</title><desc id="{2}-d">{4}</desc>{5}</svg>)",
                     coordinate(width_), coordinate(height_), id, escape(title), escape(description), body_);
}

void draw_axes(Drawing& drawing, const Frame& frame, const Scale& x, const Scale& y,
               const std::string& x_title, const std::string& y_title) {
  const double right = frame.width - frame.right, bottom = frame.height - frame.bottom;
  for (const double tick : y.ticks(5)) {
    drawing.line(frame.left, y(tick), right, y(tick), "grid");
    drawing.text(frame.left - 6, y(tick) + 4, short_number(tick), "tick", Anchor::end);
  }
  for (const double tick : x.ticks(5)) {
    drawing.line(x(tick), bottom, x(tick), bottom + 4, "axis");
    drawing.text(x(tick), bottom + 17, short_number(tick), "tick", Anchor::middle);
  }
  drawing.line(frame.left, bottom, right, bottom, "axis");
  drawing.text((frame.left + right) / 2, frame.height - 5, x_title, "axis-title", Anchor::middle);
  drawing.vertical_text(12, (frame.top + bottom) / 2, y_title, "axis-title");
}

} // namespace lathe::report
