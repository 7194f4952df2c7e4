// Results whose order atomics decide, such as what a filter keeps: each is compared as a set. Where there are
// several of one length, such as values and where they were, what lies beside each other belongs together.
#pragma once

#include "refactor/guard/host_trial.h"

#include <vector>

namespace lathe::refactor {

// Whether elements at one place of unordered results (by buffer) are together in both runs, in any order:
// false only where each buffer by itself holds the same elements in both, bit for bit.
bool belong_together(const Workload& workload, const TrialResult& one, const TrialResult& other,
                     const std::vector<bool>& unordered);

} // namespace lathe::refactor
