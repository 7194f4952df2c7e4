#include "tuner/report/importance.h"
#include "tuner/report/report.h"
#include "tuner/report/summary.h"

#include <nlohmann/json.hpp>

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

constexpr int json_schema_version = 2; // 1 had no "Searches"

Json importance_json(const std::vector<StoredEvaluation>& evaluations) {
  const auto importance = report::knob_importance(evaluations);
  if (!importance)
    return {};
  Json knobs = Json::object(), pairs = Json::array();
  for (const report::KnobEffect& effect : importance->knobs)
    knobs[effect.name] = effect.share;
  for (const report::PairEffect& pair : importance->pairs)
    pairs.push_back({{"Knobs", {importance->knobs[pair.first].name, importance->knobs[pair.second].name}},
                     {"Share", pair.share}});
  return {{"Method", "functional ANOVA of a random forest over log(time)"},
          {"Configurations", importance->configurations},
          {"Explained", importance->explained},
          {"Knobs", knobs},
          {"Pairs", pairs}};
}

// As lathe tune --json has them.
Json profile_object(const std::optional<Profile>& profile) {
  if (!profile)
    return {};
  const Bottleneck found = find_bottleneck(*profile);
  return {{"Counters", Json::parse(profile_json(*profile))},
          {"Bottleneck", std::string(to_string(found.kind))},
          {"Verdict", found.words}};
}

Json search_json(const KernelReport& kernel, const ProblemReport& problem) {
  Json steps = Json::array(), skipped = Json::array();
  for (const report::Improvement& step : report::improvements(problem))
    steps.push_back(
        {{"Evaluation", step.evaluation}, {"BestMicroseconds", step.best_us}, {"Author", step.author}});
  for (const report::Skipped& entry : report::skipped({problem}))
    skipped.push_back({{"Outcome", to_string(entry.outcome)},
                       {"Reason", entry.reason},
                       {"Count", entry.count},
                       {"Example", entry.example}});
  return {{"Kernel", problem.key.kernel},
          {"TemplateHash", problem.key.template_hash},
          {"Workload", problem.key.workload},
          {"Device", problem.key.device},
          {"HostExecutor", kernel.is_host},
          {"Driver", problem.key.driver},
          {"Toolkit", problem.key.toolkit},
          {"Bytes", problem.bytes > 0 ? Json(problem.bytes) : Json()},
          {"Operations", problem.operations > 0 ? Json(problem.operations) : Json()},
          {"Evaluations", problem.evaluations.size()},
          {"StoppedEarly", report::count_stopped_early(problem)},
          {"Improvements", steps},
          {"Skipped", skipped},
          {"Importance", importance_json(problem.evaluations)},
          {"RawProfile", profile_object(problem.raw_profile)},
          {"WinnerProfile", profile_object(problem.winner_profile)}};
}

} // namespace

std::string report_json(const Report& report) {
  Json winners = Json::array(), searches = Json::array(), notes = Json::array();
  for (const StoredWinner& winner : winners_of(report))
    winners.push_back(winner_json(winner));
  for (const KernelReport& kernel : report.kernels) {
    for (const ProblemReport& problem : kernel.problems)
      searches.push_back(search_json(kernel, problem));
    for (const std::string& note : kernel.notes)
      notes.push_back(kernel.key.kernel + ": " + note);
  }
  Json json{{"Schema", json_schema_version}, {"Results", winners}, {"Searches", searches}, {"Notes", notes}};
  if (report.attempts)
    for (const Attempt& attempt : report.attempts->attempts)
      json["Attempts"].push_back({{"Id", attempt.id},
                                  {"Parent", attempt.parent},
                                  {"Action", attempt.action},
                                  {"Outcome", attempt.outcome},
                                  {"Why", attempt.why},
                                  {"Configuration", attempt.configuration},
                                  {"Best", attempt.is_best}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace lathe
