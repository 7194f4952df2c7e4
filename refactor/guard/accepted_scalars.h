// Which integers the raw kernel takes as arguments beside those that the specification fixes.
#pragma once

#include "refactor/guard/reference_runs.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace lathe::refactor {

// One parameter with another number.
struct AcceptedScalar {
  std::size_t parameter = 0;
  std::int64_t value = 0;
};

// Of parameters that are the same number in all problems, so that nothing else of the specification hangs on
// them: the number that marks padding, a window, a group's size, ... `sizes` and `unused` as
// accepted_integers() has them.
std::vector<AcceptedScalar> accepted_scalars(const HostKernels& raw, const TuningSpec& spec,
                                             const std::vector<const ReferenceRuns*>& sizes,
                                             const std::set<std::size_t>& unused, std::uint64_t seed,
                                             int jobs, std::chrono::steady_clock::time_point deadline);
// One sentence for the certificate, or "".
std::string describe(const TuningSpec& spec, const std::vector<AcceptedScalar>& accepted);

} // namespace lathe::refactor
