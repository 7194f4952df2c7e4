// Drawing primitives for the page's charts: inline SVG whose colours are classes of the page's style sheet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::report {

// Text for HTML and for quoted attributes.
std::string escape(std::string_view text);

// Three significant digits, without exponents between 0.001 and 10^7: "1.07", "86.4", "1450".
std::string short_number(double value);

// Maps values to pixels, linearly or by their logarithm. An empty range is widened.
class Scale {
public:
  Scale(double low, double high, double from, double to, bool logarithmic);
  double operator()(double value) const; // clamped to the range
  double low() const { return low_; }
  double high() const { return high_; }
  // At most about `wanted` round values within the range; never fewer than two.
  std::vector<double> ticks(int wanted) const;

private:
  double low_, high_, from_, to_;
  bool logarithmic_;
};

enum class Anchor { start, middle, end };

class Drawing {
public:
  Drawing(double width, double height) : width_(width), height_(height) {}

  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  // `tip`: what is shown when pointed at, empty for nothing.
  void rectangle(double x, double y, double width, double height, std::string_view css_class,
                 const std::string& tip = {}, double opacity = 1);
  void circle(double x, double y, double radius, std::string_view css_class, const std::string& tip = {});
  void path(const std::string& data, std::string_view css_class);
  void text(double x, double y, const std::string& words, std::string_view css_class,
            Anchor anchor = Anchor::start);
  void vertical_text(double x, double y, const std::string& words, std::string_view css_class);

  // The element; `id` must be unique on the page. The title and the description are what a screen reader says
  // instead of the picture.
  std::string svg(const std::string& id, const std::string& title, const std::string& description) const;

private:
  double width_, height_;
  std::string body_;
};

// A chart's frame: grid, ticks and axis titles around the scales' area.
struct Frame {
  double width = 400, height = 250;
  double left = 48, right = 12, top = 10, bottom = 40;
};
void draw_axes(Drawing& drawing, const Frame& frame, const Scale& x, const Scale& y,
               const std::string& x_title, const std::string& y_title);

// "12.3": one decimal, as coordinates are written.
std::string coordinate(double value);

} // namespace lathe::report
