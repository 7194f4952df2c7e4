// Real arguments at which the raw kernel decides something by equality: a random number that is just the
// limit.
#pragma once

#include "refactor/guard/reference_runs.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace lathe::refactor {

// Two neighbouring numbers between which a decision of the raw kernel's changes, so that one of them is what
// the argument is compared with.
struct DecidingScalar {
  std::size_t parameter = 0;
  double below = 0, above = 0;
};

// Of arguments that are compared with what no real input has a part in (a hash of the element's number): what
// is computed from real inputs may be rounded otherwise by an honest template. Found by bisection: an
// element of the results that is zero on one side and not on the other, or another integer. `compared`: the
// arguments that are asked about; `sizes` as accepted_integers() has it.
std::vector<DecidingScalar> deciding_scalars(const HostKernels& raw, const std::set<std::size_t>& compared,
                                             const std::vector<const ReferenceRuns*>& sizes,
                                             std::uint64_t seed, int jobs,
                                             std::chrono::steady_clock::time_point deadline);
// One sentence for the certificate, or "".
std::string describe(const TuningSpec& spec, const std::vector<DecidingScalar>& deciding);

} // namespace lathe::refactor
