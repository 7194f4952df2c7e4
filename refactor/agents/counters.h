// What the GPU's counters say of the raw kernel, as features of a search's states.
#pragma once

#include "refactor/agents/offline_tree.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::refactor::agents {

// Shares between 0 and 1, by names of their own, of the counters of one launch as profile_counters() names
// them. Nothing of no counters: a feature that is absent is not known.
Features counter_features(const std::map<std::string, double>& counters);

// Of lists with the same names in the same order the mean; lists without a feature do not count.
Features mean_of(const std::vector<Features>& lists);

} // namespace lathe::refactor::agents
