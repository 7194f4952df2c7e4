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
  enum class Kind {
    usual, // zero, one on either side of it, and what the specification's number makes of itself
    near,  // small ones of both signs, odd ones, and what lies beside the knobs' values
    wide,  // those that a number of 32 bits does not hold
  };
  std::size_t parameter = 0;
  std::int64_t value = 0;
  Kind kind = Kind::usual;
};

// Of parameters that are the same number in all problems, so that nothing else of the specification hangs on
// them: the number that marks padding, a window, a group's size, ... `sizes` and `unused` as
// accepted_integers() has them.
std::vector<AcceptedScalar> accepted_scalars(const HostKernels& raw, const TuningSpec& spec,
                                             const std::vector<const ReferenceRuns*>& sizes,
                                             const std::set<std::size_t>& unused, std::uint64_t seed,
                                             int jobs, std::chrono::steady_clock::time_point deadline);
// One sentence for the certificate, or "": the first few numbers of each parameter, and how many there are.
std::string describe(const TuningSpec& spec, const std::vector<AcceptedScalar>& accepted);

} // namespace lathe::refactor
