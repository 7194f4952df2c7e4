// The winners as tables and JSON.
#include "tuner/report/report.h"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

constexpr int json_schema_version = 1;

Json value_json(const Value& value) {
  return std::visit([](const auto& plain) { return Json(plain); }, value);
}

Json timing_json(const Timing& timing) {
  return {{"MedianMicroseconds", timing.median_us},
          {"Interval95", {timing.low_us, timing.high_us}},
          {"Samples", timing.samples}};
}

std::string percent_of_copy(const StoredWinner& winner) {
  if (winner.copy_floor_us <= 0 || winner.comparison.tuned.median_us <= 0)
    return "not measured";
  return fmt::format("{:.1f} %", 100 * winner.copy_floor_us / winner.comparison.tuned.median_us);
}

// Of raw / tuned over the problems of a kernel on a device, a role apart: report-only problems are no
// evidence for what was searched.
std::string geometric_means(const std::vector<StoredWinner>& winners) {
  struct Sum {
    double logarithms = 0;
    int count = 0;
  };
  std::map<std::string, Sum> sums;
  for (const StoredWinner& winner : winners) {
    if (winner.comparison.ratio <= 0)
      continue;
    Sum& sum = sums[fmt::format("{}, {} problems, {}", winner.key.kernel, to_string(winner.problem.role),
                                winner.key.device)];
    sum.logarithms += std::log(winner.comparison.ratio);
    ++sum.count;
  }
  std::string text = "\nGeometric mean of raw / tuned:\n\n";
  for (const auto& [name, sum] : sums)
    text += fmt::format("- {}: {:.3f} over {}\n", name, std::exp(sum.logarithms / sum.count), sum.count);
  return text;
}

} // namespace

std::string_view to_string(ProblemRole role) {
  switch (role) {
  case ProblemRole::tune:
    return "tune";
  case ProblemRole::select:
    return "select";
  case ProblemRole::report:
    return "report";
  }
  return "";
}

std::string describe(const std::vector<std::string>& names, const KnobValues& values) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < values.size(); ++i)
    text += (i == 0 ? "" : " ") + names[i] + "=" + to_string(values[i]);
  return text;
}

nlohmann::ordered_json winner_json(const StoredWinner& winner) {
  Json knobs = Json::object();
  for (std::size_t i = 0; i < winner.knob_names.size() && i < winner.knobs.size(); ++i)
    knobs[winner.knob_names[i]] = value_json(winner.knobs[i]);
  return {{"Kernel", winner.key.kernel},
          {"TemplateHash", winner.key.template_hash},
          {"Workload", winner.key.workload},
          {"Problem", winner.problem.dimensions},
          {"Role", to_string(winner.problem.role)},
          {"Types", winner.types},
          {"Device", winner.key.device},
          {"HostExecutor", winner.is_host},
          {"Driver", winner.key.driver},
          {"Toolkit", winner.key.toolkit},
          {"Configuration", knobs},
          {"Raw", timing_json(winner.comparison.raw)},
          {"Tuned", timing_json(winner.comparison.tuned)},
          {"Ratio", winner.comparison.ratio},
          {"RatioInterval95", {winner.comparison.ratio_low, winner.comparison.ratio_high}},
          {"NoiseBand", winner.comparison.noise_band},
          {"CopyFloorMicroseconds", winner.copy_floor_us},
          {"Evaluations", winner.evaluations},
          {"Seconds", winner.seconds},
          {"Protocol", winner.protocol},
          {"Timestamp", winner.timestamp},
          {"LatheVersion", winner.lathe_version}};
}

std::string winners_json(const std::vector<StoredWinner>& winners) {
  Json rows = Json::array();
  for (const StoredWinner& winner : winners)
    rows.push_back(winner_json(winner));
  return Json{{"Schema", json_schema_version}, {"Results", rows}}.dump(2);
}

std::string winners_markdown(const std::vector<StoredWinner>& winners) {
  std::set<std::string> circumstances;
  for (const StoredWinner& winner : winners)
    circumstances.insert(fmt::format("- {}{}, driver {}, {}, {}, Lathe {}: {}\n", winner.key.device,
                                     winner.is_host ? " (host executor: not GPU times)" : "",
                                     winner.key.driver.empty() ? "none" : winner.key.driver,
                                     winner.key.toolkit, winner.timestamp.substr(0, 10), winner.lathe_version,
                                     winner.protocol));
  std::string text;
  for (const std::string& line : circumstances)
    text += line;
  text +=
      "\n| kernel | problem | role | raw us | tuned us | raw / tuned | 95 % interval | A/A band | share of "
      "copy | "
      "configuration | tried | s |\n|---|---|---|---:|---:|---:|---|---:|---:|---|---:|---:|\n";
  for (const StoredWinner& winner : winners) {
    const Comparison& comparison = winner.comparison;
    text += fmt::format("| {} | {} | {}{} | {:.2f} | {:.2f} | {:.3f} | {:.3f} to {:.3f} | {:.1f} % | {} | {} "
                        "| {} | {:.0f} |\n",
                        winner.key.kernel, winner.key.workload, to_string(winner.problem.role),
                        winner.is_host ? ", host executor" : "", comparison.raw.median_us,
                        comparison.tuned.median_us, comparison.ratio, comparison.ratio_low,
                        comparison.ratio_high, 100 * comparison.noise_band, percent_of_copy(winner),
                        describe(winner.knob_names, winner.knobs), winner.evaluations, winner.seconds);
  }
  return text + geometric_means(winners);
}

namespace {

// RFC 4180: quotes within a quoted field are doubled.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text)
    result += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return result + "\"";
}

} // namespace

std::string winners_csv(const std::vector<StoredWinner>& winners) {
  std::string text = "kernel,workload,role,device,host_executor,raw_us,tuned_us,ratio,ratio_low,ratio_high,"
                     "noise_band,copy_us,"
                     "configuration,evaluations,seconds\n";
  for (const StoredWinner& winner : winners) {
    const Comparison& comparison = winner.comparison;
    text +=
        fmt::format("{},{},{},{},{},{:.4f},{:.4f},{:.5f},{:.5f},{:.5f},{:.5f},{:.4f},{},{},{:.1f}\n",
                    quoted(winner.key.kernel), quoted(winner.key.workload), to_string(winner.problem.role),
                    quoted(winner.key.device), winner.is_host, comparison.raw.median_us,
                    comparison.tuned.median_us, comparison.ratio, comparison.ratio_low, comparison.ratio_high,
                    comparison.noise_band, winner.copy_floor_us,
                    quoted(describe(winner.knob_names, winner.knobs)), winner.evaluations, winner.seconds);
  }
  return text;
}

} // namespace lathe
