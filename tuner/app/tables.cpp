#include "tuner/app/tables.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

constexpr int json_schema_version = 1;

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
  if (winner.copy_floor_us > 0 && comparison.tuned.median_us > 0)
    line += fmt::format("  {:.1f} % of copy", 100 * winner.copy_floor_us / comparison.tuned.median_us);
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
  if (result.counters.read + result.counters.failed > 0)
    add(fmt::format("counters of {} configurations read{}", result.counters.read,
                    result.counters.failed > 0
                        ? fmt::format(", {} failed: {}", result.counters.failed, result.counters.problem)
                        : ""));
  for (const std::string& reason : result.rejected)
    add("finalist refused: " + reason);
  return text;
}

std::string sessions_json(const std::vector<const SessionResult*>& results,
                          const std::vector<GeneralConfiguration>& general) {
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
  Json generals = Json::array();
  for (const GeneralConfiguration& one : general) {
    Json knobs = Json::object();
    for (std::size_t i = 0; i < one.knobs.size(); ++i)
      knobs[one.knob_names[i]] = to_string(one.knobs[i]);
    generals.push_back({{"Spec", one.spec},
                        {"Types", one.types},
                        {"Knobs", knobs},
                        {"Problems", one.problems},
                        {"Ratio", one.ratio},
                        {"Worst", one.worst},
                        {"WorstProblem", one.worst_problem}});
  }
  return Json{{"Schema", json_schema_version}, {"Results", rows}, {"General", generals}}.dump(2);
}

} // namespace lathe
