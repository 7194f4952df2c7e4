// Replaying searches on recorded spaces: how good is a technique, without a device (docs/search.md).
#pragma once

#include "tuner/search/pace.h"
#include "tuner/search/recorded_space.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

struct ReplayOptions {
  std::string technique = "ensemble";
  std::size_t budget = 400; // distinct configurations evaluated; failed ones count
  std::size_t seeds = 20;   // first_seed, the next one, ...
  std::uint64_t first_seed = 1;
  std::size_t batch = 1; // configurations asked for at once
  // Configurations whose results may be outstanding when others are asked for; results are told in the order
  // of asking, as `lathe tune` does. 0: as many as the batch, told before the next batch is asked for.
  std::size_t in_flight = 0;
  double counter_seconds =
      0; // device time of reading the counters of one configuration, on the simulated clock
  // In place of both: at the pace of `lathe tune`, and with what takes long put back as there.
  bool paced = false;
  std::vector<Point> start = {}; // proposed first
  // Of the simulated clock: compile workers beside one device that measures in the order of telling.
  std::size_t workers = 1;
  double effort_weight = SearchOptions{}.effort_weight;
  std::size_t patience = SearchOptions{}.patience;
  std::vector<Observation> prior = {};
  std::vector<std::vector<Observation>> priors = {}; // in its place: one for each seed
  unsigned threads = 0;                              // 0: one a core
};

// One search: after k evaluations the best cost is best[k - 1] (infinity while nothing succeeded).
struct ReplayRun {
  std::uint64_t seed = 0;
  std::vector<double> best;
  std::vector<Observation> observations; // in order
  std::vector<double> seconds; // recorded evaluation time used up to and including the k-th evaluation
  std::vector<double> clock;   // simulated: when the k-th result was known
  double engine_seconds = 0;   // processor time of the search itself
};

struct ReplayResult {
  std::vector<ReplayRun> runs;
  double optimum = 0;
  // optimum / best cost after `evaluations`; a run that ended earlier (space exhausted) keeps its last value.
  // 0 while nothing succeeded.
  double fraction(const ReplayRun& run, std::size_t evaluations) const;
  double mean_fraction(std::size_t evaluations) const;
  double standard_error(std::size_t evaluations) const;
  // Evaluations until 95 % of the optimum; nothing when the run does not reach it.
  std::optional<std::size_t> evaluations_to(const ReplayRun& run, double fraction) const;
  // Simulated seconds until then.
  std::optional<double> seconds_to(const ReplayRun& run, double fraction) const;
  double engine_seconds_per_evaluation() const;
};

Result<ReplayResult> replay(const RecordedSpace& space, const ReplayOptions& options);

// Expected optimum / best after `evaluations` draws without replacement: exact.
double random_fraction(const RecordedSpace& space, std::size_t evaluations);

// The community's performance score (Willemsen et al., "A methodology for comparing optimization algorithms
// for auto-tuning", 2024; the autotuning_methodology package): mean over equidistant times of (baseline -
// best) / (baseline - optimum), with random search as the baseline and as horizon the time that the baseline
// needs to come 95 % of the way from the median to the optimum. 0 is random search, 1 finds the optimum at
// once. Time is the recorded evaluation time, or the number of evaluations where the file has none.
double performance_score(const RecordedSpace& space, const ReplayResult& result);
// Evaluations that correspond to that horizon.
std::size_t performance_horizon(const RecordedSpace& space);

} // namespace lathe
