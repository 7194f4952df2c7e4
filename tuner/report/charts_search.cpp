// What one search tried: over time, and as a distribution.
#include "tuner/report/charts.h"
#include "tuner/report/page_parts.h"
#include "tuner/report/summary.h"
#include "tuner/report/svg.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace lathe::report {
namespace {

constexpr int bins = 28;

bool has_time(const StoredEvaluation& evaluation) {
  return evaluation.measurement.outcome == Outcome::ok && evaluation.measurement.timing.median_us > 0;
}

// The levels that both charts show beside the configurations: 0 where not known.
struct Levels {
  double raw = 0, tuned = 0, floor = 0;
};

Levels levels_of(const ProblemReport& problem) {
  if (!problem.winner)
    return {};
  const StoredWinner& winner = *problem.winner;
  return {winner.comparison.raw.median_us, winner.comparison.tuned.median_us, winner.copy_floor_us};
}

std::vector<LegendEntry> level_legend(const Levels& levels, bool is_host) {
  std::vector<LegendEntry> legend;
  if (levels.raw > 0)
    legend.push_back({"raw", "raw kernel " + microseconds(levels.raw, is_host)});
  if (levels.tuned > 0)
    legend.push_back({"tuned", "winner " + microseconds(levels.tuned, is_host)});
  if (levels.floor > 0)
    legend.push_back({"floor", "copy of the same bytes " + microseconds(levels.floor, is_host)});
  return legend;
}

// The range of times, with some room.
std::pair<double, double> time_range(const ProblemReport& problem, const Levels& levels) {
  double low = 0, high = 0;
  const auto include = [&](double value) {
    if (value <= 0)
      return;
    low = low == 0 ? value : std::min(low, value);
    high = std::max(high, value);
  };
  for (const StoredEvaluation& evaluation : problem.evaluations)
    if (has_time(evaluation))
      include(evaluation.measurement.timing.median_us);
  for (const double level : {levels.raw, levels.tuned, levels.floor})
    include(level);
  return {low * 0.95, high * 1.05};
}

std::string unit_title(bool is_host) {
  return is_host ? "µs a launch (host executor)" : "µs a launch";
}

std::string no_search(const ProblemReport& problem, const std::string& title) {
  const std::string why = problem.evaluations.empty()
                              ? "This problem was not searched: winners of other problems were tried on it."
                              : "No configuration ran.";
  return figure(title, {}, "", why, "");
}

} // namespace

std::string progress_chart(const std::string& id, const ProblemReport& problem, bool is_host) {
  const std::string title = "The search, step by step";
  const Levels levels = levels_of(problem);
  const auto steps = improvements(problem);
  if (steps.empty())
    return no_search(problem, title);
  const Frame frame;
  const auto [low, high] = time_range(problem, levels);
  const double bottom = frame.height - frame.bottom, right = frame.width - frame.right;
  const Scale x(1, static_cast<double>(std::max<std::size_t>(problem.evaluations.size(), 2)), frame.left,
                right, false);
  const Scale y(low, high, bottom, frame.top, true);
  Drawing drawing(frame.width, frame.height);
  draw_axes(drawing, frame, x, y, "configurations tried", unit_title(is_host));
  std::string dots, fails;
  for (std::size_t i = 0; i < problem.evaluations.size(); ++i) {
    const double at = x(static_cast<double>(i + 1));
    if (has_time(problem.evaluations[i]))
      dots += fmt::format("M{} {}h0", coordinate(at),
                          coordinate(y(problem.evaluations[i].measurement.timing.median_us)));
    else
      fails += fmt::format("M{} {}v6", coordinate(at), coordinate(frame.top));
  }
  drawing.path(dots, "dots");
  if (!fails.empty())
    drawing.path(fails, "fails");
  if (levels.floor > 0)
    drawing.line(frame.left, y(levels.floor), right, y(levels.floor), "floor");
  if (levels.raw > 0)
    drawing.line(frame.left, y(levels.raw), right, y(levels.raw), "raw");
  std::string line;
  std::vector<Row> rows;
  for (const Improvement& step : steps) {
    const double at = x(static_cast<double>(step.evaluation));
    line += line.empty() ? fmt::format("M{} {}", coordinate(at), coordinate(y(step.best_us)))
                         : fmt::format("H{}V{}", coordinate(at), coordinate(y(step.best_us)));
    const std::string against =
        levels.raw > 0 ? short_number(levels.raw / step.best_us) : std::string("not known");
    rows.push_back(
        {std::to_string(step.evaluation), microseconds(step.best_us, is_host), against, escape(step.author)});
  }
  drawing.path(line + fmt::format("H{}", coordinate(right)), "tuned");
  std::vector<LegendEntry> legend = level_legend({levels.raw, 0, levels.floor}, is_host);
  legend.insert(legend.begin(), {{"tuned", "best so far"}, {"tried", "a configuration"}});
  if (!fails.empty())
    legend.push_back({"fail", "skipped or failed"});
  const std::size_t early = count_stopped_early(problem);
  std::string remark =
      fmt::format("{} configurations, {} of them ran.", problem.evaluations.size(), count_ok(problem));
  if (early > 0)
    remark += fmt::format(" {} were stopped after a few samples because they were clearly beaten.", early);
  return figure(
      title, legend,
      drawing.svg(id, title,
                  fmt::format("The best time falls from {} to {} over {} configurations.",
                              microseconds(steps.front().best_us, is_host),
                              microseconds(steps.back().best_us, is_host), problem.evaluations.size())),
      remark, table("Improvements of the best time", {"tried", "best", "raw / best", "found by"}, rows));
}

std::string distribution_chart(const std::string& id, const ProblemReport& problem, bool is_host) {
  const std::string title = "All configurations by their time";
  if (count_ok(problem) < 2)
    return no_search(problem, title);
  const Levels levels = levels_of(problem);
  const Frame frame;
  const auto [low, high] = time_range(problem, levels);
  const double bottom = frame.height - frame.bottom, right = frame.width - frame.right;
  const Scale x(low, high, frame.left, right, true);
  const double width = (right - frame.left) / bins;
  const auto edge = [&](int bin) { return x.low() * std::pow(x.high() / x.low(), double(bin) / bins); };
  std::vector<int> counts(bins);
  int faster = 0, timed = 0;
  for (const StoredEvaluation& evaluation : problem.evaluations) {
    if (!has_time(evaluation))
      continue;
    const double time = evaluation.measurement.timing.median_us;
    const int bin = static_cast<int>((x(time) - frame.left) / width);
    ++counts[static_cast<std::size_t>(std::clamp(bin, 0, bins - 1))];
    faster += time < levels.raw ? 1 : 0;
    ++timed;
  }
  const Scale y(0, *std::ranges::max_element(counts), bottom, frame.top, false);
  Drawing drawing(frame.width, frame.height);
  draw_axes(drawing, frame, x, y, unit_title(is_host), "configurations");
  std::vector<Row> rows;
  for (int bin = 0; bin < bins; ++bin) {
    const int count = counts[static_cast<std::size_t>(bin)];
    if (count == 0)
      continue;
    const std::string range = short_number(edge(bin)) + " to " + microseconds(edge(bin + 1), is_host);
    drawing.rectangle(frame.left + bin * width + 0.5, y(count), width - 1, bottom - y(count), "pair",
                      fmt::format("{}: {} configurations", range, count));
    rows.push_back({range, std::to_string(count)});
  }
  if (levels.floor > 0)
    drawing.line(x(levels.floor), frame.top, x(levels.floor), bottom, "floor");
  if (levels.raw > 0)
    drawing.line(x(levels.raw), frame.top, x(levels.raw), bottom, "raw");
  if (levels.tuned > 0)
    drawing.line(x(levels.tuned), frame.top, x(levels.tuned), bottom, "tuned");
  const std::string remark =
      levels.raw > 0
          ? fmt::format("{:.0f} % of the configurations that ran took less time than the raw kernel. A "
                        "search looks longer where times are short.",
                        100.0 * faster / timed)
          : "A search looks longer where times are short.";
  return figure(
      title, level_legend(levels, is_host),
      drawing.svg(id, title,
                  fmt::format("{} configurations took from {} to {}.", timed,
                              microseconds(low / 0.95, is_host), microseconds(high / 1.05, is_host))),
      remark, table("Configurations by time", {"time", "configurations"}, rows));
}

} // namespace lathe::report
