// Real arguments that may be infinite: what stands in for elements that are left out, and limits that are
// none.
#pragma once

#include "refactor/guard/reference_runs.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lathe::refactor {

struct InfiniteScalar {
  std::size_t parameter = 0;
  double value = 0; // infinity of either sign
};

// Those with which the raw kernel's results have no NaN among them and some number other than zero: an
// infinite scale or divisor leaves none. `sizes` as accepted_integers() has it.
std::vector<InfiniteScalar> infinite_scalars(const HostKernels& raw,
                                             const std::vector<const ReferenceRuns*>& sizes,
                                             std::uint64_t seed, int jobs,
                                             std::chrono::steady_clock::time_point deadline);
// One sentence for the certificate, or "".
std::string describe(const TuningSpec& spec, const std::vector<InfiniteScalar>& infinite);

} // namespace lathe::refactor
