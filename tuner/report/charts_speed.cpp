// How fast the kernels are against the memory and against each other, over all problems.
#include "tuner/report/charts.h"
#include "tuner/report/page_parts.h"
#include "tuner/report/summary.h"
#include "tuner/report/svg.h"

#include "tuner/device/device.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace lathe::report {
namespace {

// Bytes a microsecond are MB/s times 10^6; charts count in GB/s and GFLOP/s.
constexpr double giga_per_second = 1e-3; // of a unit a microsecond

struct SpeedPoint {
  std::size_t number = 0; // in the table, from 1
  const ProblemReport* problem = nullptr;
  double raw_us = 0, tuned_us = 0, copy_us = 0;
};

std::vector<SpeedPoint> points_of(const KernelReport& kernel) {
  std::vector<SpeedPoint> points;
  for (std::size_t i = 0; i < kernel.problems.size(); ++i) {
    const ProblemReport& problem = kernel.problems[i];
    if (!problem.winner || problem.bytes <= 0 || problem.winner->comparison.raw.median_us <= 0 ||
        problem.winner->comparison.tuned.median_us <= 0)
      continue;
    points.push_back({i + 1, &problem, problem.winner->comparison.raw.median_us,
                      problem.winner->comparison.tuned.median_us, problem.winner->copy_floor_us});
  }
  return points;
}

std::string host_suffix(const KernelReport& kernel) {
  return kernel.is_host ? " (host executor)" : "";
}

} // namespace

std::string bandwidth_chart(const std::string& id, const KernelReport& kernel) {
  std::vector<SpeedPoint> points = points_of(kernel);
  if (points.empty())
    return "";
  std::ranges::stable_sort(points, {}, [](const SpeedPoint& point) { return point.problem->bytes; });
  const std::string title = "Memory traffic against the size of the problem";
  const auto speed = [](const SpeedPoint& point, double time_us) {
    return time_us > 0 ? point.problem->bytes / time_us * giga_per_second : 0;
  };
  double highest = 0;
  for (const SpeedPoint& point : points)
    highest = std::max(
        {highest, speed(point, point.raw_us), speed(point, point.tuned_us), speed(point, point.copy_us)});
  Frame frame;
  frame.left = 54;
  const double bottom = frame.height - frame.bottom, right = frame.width - frame.right;
  constexpr double mega = 1e6;
  const Scale x(points.front().problem->bytes / mega * 0.8, points.back().problem->bytes / mega * 1.25,
                frame.left, right, true);
  const Scale y(0, highest * 1.05, bottom, frame.top, false);
  Drawing drawing(frame.width, frame.height);
  draw_axes(drawing, frame, x, y, "MB that the kernel has to move", "GB/s" + host_suffix(kernel));
  std::string copy_line;
  std::vector<Row> rows;
  for (const SpeedPoint& point : points) {
    const double at = x(point.problem->bytes / mega);
    if (point.copy_us > 0)
      copy_line += fmt::format("{}{} {}", copy_line.empty() ? "M" : "L", coordinate(at),
                               coordinate(y(speed(point, point.copy_us))));
    drawing.line(at, y(speed(point, point.raw_us)), at, y(speed(point, point.tuned_us)), "link");
    rows.push_back({std::to_string(point.number), escape(point.problem->key.workload),
                    short_number(point.problem->bytes / mega), short_number(speed(point, point.raw_us)),
                    short_number(speed(point, point.tuned_us)),
                    point.copy_us > 0 ? short_number(speed(point, point.copy_us)) : "not measured"});
  }
  if (!copy_line.empty())
    drawing.path(copy_line, "floor");
  for (const SpeedPoint& point : points) {
    const double at = x(point.problem->bytes / mega);
    const auto tip = [&](const char* what, double time) {
      return fmt::format("{} {}: {} GB/s{}", what, point.problem->key.workload,
                         short_number(speed(point, time)), host_suffix(kernel));
    };
    drawing.circle(at, y(speed(point, point.raw_us)), 3.6, "raw", tip("raw", point.raw_us));
    drawing.circle(at, y(speed(point, point.tuned_us)), 3.6, "tuned", tip("tuned", point.tuned_us));
  }
  std::vector<LegendEntry> legend{{"raw", "raw kernel"}, {"tuned", "winner"}};
  if (!copy_line.empty())
    legend.push_back({"floor", "a copy of the same bytes, measured"});
  return figure(title, legend,
                drawing.svg(id, title, "Gigabytes a second of the raw kernel, the winner and a plain copy."),
                "Bytes are the least that the specification's cost model allows: each input read once, each "
                "output written once.",
                table("Memory traffic by problem",
                      {"#", "problem", "MB", "raw GB/s" + host_suffix(kernel),
                       "tuned GB/s" + host_suffix(kernel), "copy GB/s" + host_suffix(kernel)},
                      rows));
}

std::string roofline_chart(const std::string& id, const KernelReport& kernel) {
  std::vector<SpeedPoint> points = points_of(kernel);
  std::erase_if(points, [](const SpeedPoint& point) { return point.problem->operations <= 0; });
  if (points.empty())
    return "";
  const std::string title = "Roofline";
  const auto intensity = [](const SpeedPoint& point) {
    return point.problem->operations / point.problem->bytes;
  };
  const auto rate = [](const SpeedPoint& point, double time) {
    return point.problem->operations / time * giga_per_second;
  };
  double copy = 0, least = 1e300, most = 0, slowest = 1e300, fastest = 0;
  for (const SpeedPoint& point : points) {
    if (point.copy_us > 0)
      copy = std::max(copy, point.problem->bytes / point.copy_us * giga_per_second);
    least = std::min(least, intensity(point));
    most = std::max(most, intensity(point));
    slowest = std::min({slowest, rate(point, point.raw_us), rate(point, point.tuned_us)});
    fastest = std::max({fastest, rate(point, point.raw_us), rate(point, point.tuned_us)});
  }
  const double peak = kernel.is_host ? 0 : nominal_fp32_gflops(kernel.key.device).value_or(0); // 0: not known
  const double ridge = copy > 0 ? peak / copy : 0;
  const double last = std::max(most * 8, ridge * 3);
  Frame frame;
  frame.left = 54;
  const double bottom = frame.height - frame.bottom, right = frame.width - frame.right;
  const Scale x(least / 4, last, frame.left, right, true);
  const Scale y(slowest / 2, std::max(fastest * 2, (peak > 0 ? peak : copy * last) * 1.5), bottom, frame.top,
                true);
  Drawing drawing(frame.width, frame.height);
  draw_axes(drawing, frame, x, y, "operations a byte", "GFLOP/s" + host_suffix(kernel));
  std::vector<LegendEntry> legend{{"raw", "raw kernel"}, {"tuned", "winner"}};
  if (copy > 0) {
    const double end = ridge > 0 ? ridge : last;
    // The roof is a straight line in logarithms; it starts where it enters the chart.
    const double begin = std::max(x.low(), y.low() / copy);
    drawing.line(x(begin), y(begin * copy), x(end), y(end * copy), "floor");
    legend.push_back({"floor", fmt::format("memory, measured by a copy: {} GB/s{}", short_number(copy),
                                           host_suffix(kernel))});
  }
  if (peak > 0) {
    drawing.line(x(ridge > 0 ? ridge : x.low()), y(peak), right, y(peak), "floor");
    legend.push_back({"floor", fmt::format("fp32 by the data sheet: {} GFLOP/s", short_number(peak))});
  }
  std::vector<Row> rows;
  for (const SpeedPoint& point : points) {
    const auto tip = [&](const char* what, double time) {
      return fmt::format("{} {}: {} GFLOP/s{}", what, point.problem->key.workload,
                         short_number(rate(point, time)), host_suffix(kernel));
    };
    const double at = x(intensity(point));
    drawing.circle(at, y(rate(point, point.raw_us)), 3.6, "raw", tip("raw", point.raw_us));
    drawing.circle(at, y(rate(point, point.tuned_us)), 3.6, "tuned", tip("tuned", point.tuned_us));
    rows.push_back({std::to_string(point.number), escape(point.problem->key.workload),
                    short_number(intensity(point)), short_number(rate(point, point.raw_us)),
                    short_number(rate(point, point.tuned_us))});
  }
  std::string remark = "Problems below the memory roof are too small to fill the device, or wait for memory.";
  if (peak <= 0)
    remark += " The peak of this device's arithmetic is not known to Lathe and not drawn.";
  return figure(
      title, legend,
      drawing.svg(id, title, "Operations a second over operations a byte, under the memory's roof."), remark,
      table("Roofline by problem",
            {"#", "problem", "operations a byte", "raw GFLOP/s" + host_suffix(kernel),
             "tuned GFLOP/s" + host_suffix(kernel)},
            rows));
}

std::string ratio_strip(const std::string& id, const Comparison& comparison, double smallest,
                        double largest) {
  constexpr double width = 190, height = 22, middle = height / 2;
  const Scale x(smallest, largest, 5, width - 5, true);
  Drawing drawing(width, height);
  const double low = x(1 - std::min(0.9, comparison.noise_band)), high = x(1 + comparison.noise_band);
  drawing.rectangle(low, 2, std::max(1.0, high - low), height - 4, "band");
  drawing.line(x(1), 2, x(1), height - 2, "one");
  drawing.line(x(1), middle, x(comparison.ratio), middle, "link");
  drawing.line(x(comparison.ratio_low), middle, x(comparison.ratio_high), middle, "whisker");
  drawing.circle(x(comparison.ratio), middle, 4.5, gains(comparison) ? "tuned" : "none");
  return drawing.svg(id, fmt::format("raw / tuned {:.3f}", comparison.ratio),
                     fmt::format("95 % interval {:.3f} to {:.3f}, A/A band ± {:.1f} %", comparison.ratio_low,
                                 comparison.ratio_high, 100 * comparison.noise_band));
}

} // namespace lathe::report
