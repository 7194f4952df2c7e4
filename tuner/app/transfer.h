// Which earlier results guide a new search.
#pragma once

#include "tuner/search/search.h"
#include "tuner/store/store.h"

#include <string>
#include <vector>

namespace lathe {

struct EarlierResults {
  std::string source; // "num_tokens=16,d=4096 on NVIDIA H200"; empty: none
  std::vector<Observation> observations;
};

// The results of one other key of the same kernel, as observations in `space`: of the same device and problem
// where there are any (another template, driver or toolkit), else of the same device, else of the same
// problem, else of any; among equals of the nearest problem, by the ratios of its dimensions, and of those
// the most. Host-executor times never guide a search on a GPU, nor the other way round. Fewer than 10 results
// that ran are none. A knob that an earlier template did not have yet counts as at its default, where the
// template does what it did before; results with a knob that is gone are left out. `defaults`: of the space's
// knobs for this problem.
Result<EarlierResults> earlier_results(Store& store, const StoreKey& key, const Space& space,
                                       const KnobValues& defaults);

} // namespace lathe
