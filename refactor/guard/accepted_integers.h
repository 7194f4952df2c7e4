// Which integers the raw kernel takes beside those of the specification: found by running it.
#pragma once

#include "refactor/guard/reference_runs.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lathe::refactor {

// Of one integer input. What holds for the sizes that were tried holds for others too, as a template's author
// may not know better than a caller does.
struct AcceptedIntegers {
  int bits = 0; // numbers of so many bits; 0: its integers are no data
  // Numbers below zero among the specification's own.
  std::optional<IntegerFill::Kind> below_zero;
  // Where the specification has one number for all elements: indices below a dimension's size.
  struct Index {
    IntegerFill::Kind kind = IntegerFill::Kind::below;
    std::string dimension;
  };
  std::optional<Index> index;
  // Numbers that the raw kernel compares something with, and dimensions whose size stands for no index.
  std::vector<std::int64_t> marks;
  std::vector<std::string> ends;
  // Where the specification has offsets: that they are no places, but sorted numbers of any size.
  bool sorted_ends = false;

  bool any() const {
    return bits > 0 || below_zero || index || !marks.empty() || !ends.empty() || sorted_ends;
  }
  // What to fill the buffer with, at a problem; nothing where that is the specification's own.
  std::optional<IntegerFill> data(IntegerFill::Kind kind) const;
  std::optional<IntegerFill> indices(const Workload& workload, std::size_t buffer) const;
  // The specification's own with one mark or end among them, each of them in turn.
  std::vector<IntegerFill> marked(const Workload& workload) const;
};

// By index of the workload's buffers. `sizes`: of one choice of types, at which the raw kernel runs clean; a
// few of them are tried. `marks`: numbers that the raw kernel's text compares with. `unused`: parameters that
// nothing is asked of. The kernel takes what it runs clean with, in two orders of threads that give the same.
std::vector<AcceptedIntegers> accepted_integers(const HostKernels& raw,
                                                const std::vector<const ReferenceRuns*>& sizes,
                                                const std::vector<std::int64_t>& marks,
                                                const std::set<std::size_t>& unused, std::uint64_t seed,
                                                int jobs, std::chrono::steady_clock::time_point deadline);
// One sentence for the certificate, or "": which inputs hold what.
std::string describe(const Workload& workload, const std::vector<AcceptedIntegers>& accepted);

} // namespace lathe::refactor
