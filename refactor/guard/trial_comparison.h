// A trial of a template beside one of its raw kernel: results, and what was read and written.
#pragma once

#include "refactor/guard/host_trial.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::refactor {

// Operations that each output of the raw kernel comes from, about.
double terms_of(const Workload& workload, const TrialResult& raw);

// Compares two trials of the same data and poison. `ignore_order`: buffers (by index) whose elements are
// compared as a multiset. Returns nothing when they agree; `error`: the worst, in units of what is allowed.
struct TrialComparison {
  std::string problem;
  double error = 0;
  bool identical = true; // bit for bit
  // Of the real outputs of at most 16 bits: how many elements differ, of how many.
  std::uint64_t differing_small = 0, small = 0;
};
TrialComparison compare_trials(const Workload& workload, const TrialResult& templated, const TrialResult& raw,
                               const TrialSettings& settings, const std::vector<bool>& ignore_order);

// By buffer and element, in units of what is allowed; of inputs none.
std::vector<std::vector<double>> element_errors(const Workload& workload, const TrialResult& templated,
                                                const TrialResult& raw, const TrialSettings& settings,
                                                const std::vector<bool>& ignore_order);

// Differences between what was read and written; empty when the template writes exactly what the raw kernel
// writes and reads of its outputs only what the raw kernel reads.
std::string compare_accesses(const Workload& workload, const TrialResult& templated, const TrialResult& raw);

} // namespace lathe::refactor
