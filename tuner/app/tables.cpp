#include "tuner/app/tables.h"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

Json value_json(const Value& value) {
  return std::visit([](const auto& plain) { return Json(plain); }, value);
}

Json timing_json(const Timing& timing) {
  return {{"MedianMicroseconds", timing.median_us},
          {"Interval95", {timing.low_us, timing.high_us}},
          {"Samples", timing.samples}};
}

Json winner_json(const StoredWinner& winner) {
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

std::string percent_of_copy(const StoredWinner& winner) {
  if (winner.copy_floor_us <= 0 || winner.comparison.tuned.median_us <= 0)
    return "not measured";
  return fmt::format("{:.1f} %", 100 * winner.copy_floor_us / winner.comparison.tuned.median_us);
}

constexpr int json_schema_version = 1;

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

namespace {

// What the search may have missed, and what steered it.
std::string search_remarks(const SessionResult& result) {
  const RemainingGap& gap = result.remaining_gap;
  std::string text = "\n    search: ";
  if (result.exhausted || gap.better_share == 0)
    text += "every valid configuration was tried";
  else if (gap.fraction >= 1)
    text += "too few configurations ran to tell how far the best of the space may be";
  else
    text += fmt::format("the best of the space may be {:.1f} % faster (an estimate, docs/search.md)",
                        100 * gap.fraction);
  if (result.plateaued)
    text += "; stopped on a plateau";
  if (!result.guided_by.empty())
    text += "; guided by the results of " + result.guided_by;
  return text;
}

} // namespace

std::string summary_line(const std::string& workload, ProblemRole role, const SessionResult& result,
                         bool is_host) {
  const StoredWinner& winner = result.winner;
  if (winner.knobs.empty()) {
    std::string why = result.interrupted ? "interrupted" : "no configuration ran";
    if (!result.default_problem.empty())
      why += " (" + result.default_problem + ")";
    for (const auto& [outcome, example] : result.failure_example)
      why += fmt::format("; {} {}: {}", result.failures.at(outcome), to_string(outcome), example);
    return fmt::format("{:<34} {}", workload, why);
  }
  const Comparison& comparison = winner.comparison;
  std::string line =
      fmt::format("{:<34} raw {:.2f} us  tuned {:.2f} us{}  {:.3f}x (noise {:.1f} %)", workload,
                  comparison.raw.median_us, comparison.tuned.median_us, is_host ? " (host executor)" : "",
                  comparison.ratio, 100 * comparison.noise_band);
  if (winner.copy_floor_us > 0)
    line += "  " + percent_of_copy(winner) + " of copy";
  line += result.default_kept ? "  raw's own configuration kept: no gain beyond the noise"
                              : "  " + describe(winner.knob_names, winner.knobs);
  if (role == ProblemRole::tune)
    line += fmt::format("  [{} tried, {} failed]", result.progress.evaluated, result.progress.failed) +
            search_remarks(result);
  else
    line += fmt::format("  [{}]", to_string(role));
  return line;
}

std::string details(const SessionResult& result) {
  std::string text;
  const auto add = [&](const std::string& line) { text += "    " + line + "\n"; };
  if (!result.reference_check.empty())
    add("reference: " + result.reference_check);
  const auto verdict = [&](const char* name, const std::optional<Profile>& profile) {
    if (!profile)
      return;
    const Bottleneck bottleneck = find_bottleneck(*profile);
    add(fmt::format("{} is limited by {}: {}", name, to_string(bottleneck.kind), bottleneck.words));
    add(fmt::format("{} counters: {}", name, describe(*profile)));
  };
  verdict("raw kernel", result.raw_profile);
  verdict("winner", result.winner_profile);
  if (!result.profile_problem.empty())
    add("no counters: " + result.profile_problem);
  for (const std::string& reason : result.rejected)
    add("finalist refused: " + reason);
  return text;
}

std::string sessions_json(const std::vector<const SessionResult*>& results) {
  Json rows = Json::array();
  for (const SessionResult* result : results) {
    Json row = winner_json(result->winner);
    Json failures = Json::object();
    for (const auto& [outcome, count] : result->failures)
      failures[std::string(to_string(outcome))] = {{"Count", count},
                                                   {"Example", result->failure_example.at(outcome)}};
    row["Failures"] = failures;
    row["ReferenceCheck"] = result->reference_check;
    row["RejectedFinalists"] = result->rejected;
    for (const auto& [name, profile] :
         {std::pair{"RawProfile", &result->raw_profile}, std::pair{"WinnerProfile", &result->winner_profile}})
      row[name] = *profile ? Json{{"Counters", Json::parse(profile_json(**profile))},
                                  {"Bottleneck", std::string(to_string(find_bottleneck(**profile).kind))},
                                  {"Verdict", find_bottleneck(**profile).words}}
                           : Json();
    row["Interrupted"] = result->interrupted;
    row["Exhausted"] = result->exhausted;
    row["Plateaued"] = result->plateaued;
    row["DefaultKept"] = result->default_kept;
    row["RemainingGap"] = {{"Fraction", result->remaining_gap.fraction},
                           {"BetterShare", result->remaining_gap.better_share}};
    row["GuidedBy"] = result->guided_by.empty() ? Json() : Json(result->guided_by);
    rows.push_back(std::move(row));
  }
  return Json{{"Schema", json_schema_version}, {"Results", rows}}.dump(2);
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

std::string winners_csv(const std::vector<StoredWinner>& winners) {
  std::string text = "kernel,workload,role,device,host_executor,raw_us,tuned_us,ratio,ratio_low,ratio_high,"
                     "noise_band,copy_us,"
                     "configuration,evaluations,seconds\n";
  for (const StoredWinner& winner : winners) {
    const Comparison& comparison = winner.comparison;
    text +=
        fmt::format("{},{},{},\"{}\",{},{:.4f},{:.4f},{:.5f},{:.5f},{:.5f},{:.5f},{:.4f},{},{},{:.1f}\n",
                    winner.key.kernel, winner.key.workload, to_string(winner.problem.role), winner.key.device,
                    winner.is_host, comparison.raw.median_us, comparison.tuned.median_us, comparison.ratio,
                    comparison.ratio_low, comparison.ratio_high, comparison.noise_band, winner.copy_floor_us,
                    describe(winner.knob_names, winner.knobs), winner.evaluations, winner.seconds);
  }
  return text;
}

} // namespace lathe
