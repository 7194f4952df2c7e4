// How far the raw kernel reaches into its buffers as the sizes grow.
#pragma once

#include "refactor/app/traced_kernel.h"

#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor {

struct Growth {
  std::vector<Dimensions> sizes;         // of each run; the first is the base
  std::vector<std::vector<Extent>> runs; // one entry an argument; scalars stay empty
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> geometry; // of the grid, in each run
};

// Runs at the first of several sizes, none above `base`, at which the raw kernel shows how its buffers grow:
// there, with sets of dimensions doubled, and with all of them tripled. The error is the first sizes' reason:
// larger ones fail for want of time besides. `kernel` is `raw`'s, compiled.
Result<Growth> trace_growth(const Candidate& raw, const Dimensions& base, const TracedKernel& kernel);

} // namespace lathe::refactor
