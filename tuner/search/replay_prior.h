// Earlier results for a replayed search: recorded ones, cut down to what a results store would hold of them,
// or spoilt, to see what wrong ones cost.
#pragma once

#include "tuner/search/recorded_space.h"

#include <cstddef>
#include <vector>

namespace lathe {

enum class PriorChange {
  none,
  shuffled, // each configuration with another one's result
  inverted, // the worst is said to be the best
  permuted, // each knob's values exchanged among each other: as smooth as before, and of another kernel
};

struct PriorChoice {
  std::size_t history = 0; // what a search of so many configurations by the default finds; 0: everything
  PriorChange change = PriorChange::none; // of that
  unsigned threads = 0;                   // 0: one a core
};

// One prior for each of `seeds` searches in the space of `parameters`: each from a search of its own. Errors
// are those of prior_from.
Result<std::vector<std::vector<Observation>>> choose_priors(const RecordedSpace& earlier,
                                                            const std::vector<Parameter>& parameters,
                                                            const PriorChoice& choice, std::size_t seeds);

} // namespace lathe
