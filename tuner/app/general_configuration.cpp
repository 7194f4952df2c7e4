#include "tuner/app/general_configuration.h"

#include "tuner/app/best_stored.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace lathe {
namespace {

constexpr const char* AUTHOR = "from another problem";

constexpr std::size_t CANDIDATES_A_WORKLOAD = 4;

// The raw kernel's own and the fastest on each workload, none twice.
Result<std::vector<KnobValues>> candidates_of(const std::vector<const Workload*>& workloads,
                                              const DeviceInfo& device, Store& store) {
  std::vector<KnobValues> candidates;
  const auto add = [&](const KnobValues& knobs) {
    if (std::find(candidates.begin(), candidates.end(), knobs) == candidates.end())
      candidates.push_back(knobs);
  };
  for (const Workload* workload : workloads) {
    LATHE_TRY(const KnobValues defaults, default_knobs(*workload));
    add(defaults);
    LATHE_TRY(const std::vector<Ranked> best, best_stored(*workload, device, store, CANDIDATES_A_WORKLOAD));
    for (const Ranked& one : best)
      add(one.knobs);
  }
  return candidates;
}

// Times of the candidates on one workload, microseconds; nothing for those that failed or are not valid
// there.
Result<std::vector<std::optional<double>>> times_on(const Workload& workload,
                                                    const std::vector<KnobValues>& candidates,
                                                    Backend& backend, Store& store) {
  LATHE_TRY(const KnobValues defaults, default_knobs(workload));
  LATHE_TRY(const Space space, workload_space(workload, defaults));
  const StoreKey key = store_key(workload, backend.device());
  const std::vector<std::string> names = workload.spec->knob_names();
  std::vector<std::optional<double>> times(candidates.size());
  std::vector<bool> is_known(candidates.size(), false);
  const auto learn = [&](std::size_t candidate, const Measurement& measurement) {
    is_known[candidate] = true;
    if (measurement.outcome == Outcome::ok && measurement.timing.median_us > 0)
      times[candidate] = measurement.timing.median_us;
  };
  LATHE_TRY(const std::vector<StoredEvaluation> stored, store.evaluations(key));
  for (const StoredEvaluation& evaluation : stored)
    if (const auto knobs = knobs_in_order(evaluation, names))
      for (std::size_t i = 0; i < candidates.size(); ++i)
        if (candidates[i] == *knobs)
          learn(i, evaluation.measurement);
  std::vector<KnobValues> fresh;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto point = space.point_of(candidates[i]);
    if (is_known[i] || !point || !space.contains(*point))
      continue;
    fresh.push_back(candidates[i]);
    places.push_back(i);
  }
  LATHE_TRY(const std::vector<Measurement> measured, backend.evaluate(fresh, 0));
  std::vector<StoredEvaluation> evaluations;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    evaluations.push_back({fresh[i], measured[i], AUTHOR, "", names});
    learn(places[i], measured[i]);
  }
  LATHE_CHECK(store.record_all(key, names, evaluations));
  return times;
}

} // namespace

Result<std::optional<GeneralConfiguration>>
find_general_configuration(const std::vector<const Workload*>& workloads, Backend& backend, Store& store,
                           const SessionOptions& options, const std::atomic<bool>& stop) {
  LATHE_TRY(const std::vector<KnobValues> distinct, candidates_of(workloads, backend.device(), store));
  struct Standing {
    bool serves_all = true;
    double logarithms = 0, worst = INFINITY;
    std::string worst_problem;
  };
  std::vector<Standing> standings(distinct.size());
  for (const Workload* workload : workloads) {
    if (stop)
      return std::optional<GeneralConfiguration>();
    LATHE_CHECK(backend.prepare(*workload, options.measure));
    const double raw_us = backend.raw_timing().median_us;
    LATHE_TRY(const auto times, times_on(*workload, distinct, backend, store));
    for (std::size_t i = 0; i < distinct.size(); ++i) {
      Standing& standing = standings[i];
      if (!times[i]) {
        standing.serves_all = false;
        continue;
      }
      const double ratio = raw_us / *times[i];
      standing.logarithms += std::log(ratio);
      if (ratio < standing.worst) {
        standing.worst = ratio;
        standing.worst_problem = workload->key();
      }
    }
  }
  const Standing* best = nullptr;
  for (const Standing& standing : standings)
    if (standing.serves_all && (!best || standing.logarithms > best->logarithms))
      best = &standing;
  if (!best || workloads.empty())
    return std::optional<GeneralConfiguration>();
  GeneralConfiguration general;
  general.spec = workloads.front()->spec->name;
  for (const auto& [name, dtype] : workloads.front()->types)
    general.types += (general.types.empty() ? "" : " ") + name + "=" + dtype;
  general.knobs = distinct[static_cast<std::size_t>(best - standings.data())];
  general.knob_names = workloads.front()->spec->knob_names();
  general.problems = static_cast<int>(workloads.size());
  general.ratio = std::exp(best->logarithms / static_cast<double>(workloads.size()));
  general.worst = best->worst;
  general.worst_problem = best->worst_problem;
  return std::optional(std::move(general));
}

std::string general_line(const GeneralConfiguration& general) {
  std::string knobs;
  for (std::size_t i = 0; i < general.knobs.size(); ++i)
    knobs += fmt::format("{}{}={}", i ? " " : "", general.knob_names[i], to_string(general.knobs[i]));
  return fmt::format("{}, one configuration for all {} problems: {}, raw / tuned {:.3f}, worst {:.3f} ({})",
                     general.spec, general.problems, knobs, general.ratio, general.worst,
                     general.worst_problem);
}

} // namespace lathe
