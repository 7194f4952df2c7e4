// The winners as JSON, and one key's evaluations in the FAIR community's T4 result format.
#include "tuner/emit/emit.h"
#include "tuner/emit/winning_table.h"

#include <nlohmann/json.hpp>

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

constexpr int json_schema_version = 1;
constexpr double milliseconds_per_second = 1e3;
constexpr double milliseconds_per_microsecond = 1e-3;

Json plain(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

// T4's words for why a configuration has no time.
const char* invalidity(Outcome outcome) {
  switch (outcome) {
  case Outcome::ok:
    return "correct";
  case Outcome::compile_error:
    return "compile";
  case Outcome::resource_limit:
    return "constraints";
  case Outcome::timeout:
    return "timeout";
  case Outcome::wrong_result:
  case Outcome::under_floor:
    return "correctness";
  case Outcome::runtime_error:
  case Outcome::crashed:
    return "runtime";
  }
  return "runtime";
}

std::string configuration_text(const std::vector<std::string>& names, const KnobValues& knobs) {
  Json text = Json::array();
  for (std::size_t i = 0; i < knobs.size(); ++i)
    text.push_back({i < names.size() ? names[i] : "", plain(knobs[i])});
  return text.dump();
}

} // namespace

std::string emit_json(const TuningSpec& spec, const std::vector<StoredWinner>& winners) {
  Json rows = Json::array();
  for (const StoredWinner& winner : winners) {
    Json knobs = Json::object();
    for (std::size_t i = 0; i < winner.knob_names.size() && i < winner.knobs.size(); ++i)
      knobs[winner.knob_names[i]] = plain(winner.knobs[i]);
    rows.push_back({{"Device", winner.key.device},
                    {"Architecture", winner.architecture},
                    {"HostExecutor", winner.is_host},
                    {"Types", winner.types},
                    {"Problem", winner.problem.dimensions},
                    {"Configuration", knobs},
                    {"RawMicroseconds", winner.comparison.raw.median_us},
                    {"TunedMicroseconds", winner.comparison.tuned.median_us},
                    {"Ratio", winner.comparison.ratio},
                    {"RatioInterval95", {winner.comparison.ratio_low, winner.comparison.ratio_high}},
                    {"NoiseBand", winner.comparison.noise_band},
                    {"Gain", is_gain(winner.comparison)}});
  }
  return Json{{"Schema", json_schema_version},
              {"Kernel", spec.name},
              {"TemplateHash", spec.template_hash},
              {"Results", rows}}
             .dump(2) +
         "\n";
}

std::string emit_t4(const TuningSpec& spec, const StoreKey& key,
                    const std::vector<StoredEvaluation>& evaluations,
                    const std::vector<StoredProfile>& profiles) {
  std::map<std::string, const Profile*> profile_of; // by the configuration's text
  for (const StoredProfile& stored : profiles)
    if (stored.knobs)
      profile_of[configuration_text(stored.knob_names, *stored.knobs)] = &stored.profile;
  Json results = Json::array();
  for (const StoredEvaluation& evaluation : evaluations) {
    const Measurement& measurement = evaluation.measurement;
    const bool correct = measurement.outcome == Outcome::ok;
    Json configuration = Json::object();
    // As recorded: the specification's knobs may have changed since without a change of the template.
    for (std::size_t i = 0; i < evaluation.knobs.size(); ++i)
      if (i < evaluation.knob_names.size())
        configuration[evaluation.knob_names[i]] = plain(evaluation.knobs[i]);
      else if (i < spec.knobs.size())
        configuration[spec.knobs[i].name] = plain(evaluation.knobs[i]);
    Json measurements = Json::array();
    const double time_ms = measurement.timing.median_us * milliseconds_per_microsecond;
    measurements.push_back(
        {{"name", "time"},
         {"value", correct ? Json(time_ms) : Json(std::string(to_string(measurement.outcome)))},
         {"unit", "ms"}});
    if (const auto found = profile_of.find(configuration_text(evaluation.knob_names, evaluation.knobs));
        found != profile_of.end())
      for (const auto& [name, value] : profile_counters(*found->second))
        measurements.push_back({{"name", "counter:" + name}, {"value", value}, {"unit", ""}});
    results.push_back({{"timestamp", evaluation.timestamp},
                       {"configuration", configuration},
                       {"times",
                        {{"compilation", measurement.compile_seconds * milliseconds_per_second},
                         {"framework", 0},
                         {"search_algorithm", 0},
                         {"validation", measurement.run_seconds * milliseconds_per_second},
                         {"runtimes", correct ? Json::array({time_ms}) : Json::array()}}},
                       {"invalidity", invalidity(measurement.outcome)},
                       {"correctness", correct ? 1 : 0},
                       {"objectives", {"time"}},
                       {"measurements", std::move(measurements)}});
  }
  return Json{{"schema_version", "1.0.0"},
              {"metadata",
               {{"timestamp", evaluations.empty() ? "" : evaluations.back().timestamp},
                {"kernel", key.kernel},
                {"template_hash", key.template_hash},
                {"workload", key.workload},
                {"device", key.device},
                {"driver", key.driver},
                {"toolkit", key.toolkit}}},
              {"results", results}}
             .dump(1) +
         "\n";
}

} // namespace lathe
