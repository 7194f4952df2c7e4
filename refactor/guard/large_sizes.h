// What the template does where numbers no longer fit in 32 bits: sizes of billions of elements, of which a
// few blocks run.
#pragma once

#include "refactor/guard/host_kernels.h"
#include "refactor/guard/reference_runs.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lathe::refactor {

struct LargeSizes {
  const JudgedPair& subject;
  const HostKernels &raw, &templated;
  std::vector<const ReferenceRuns*> sizes; // at which the raw kernel runs clean; of one choice of types
  std::uint64_t seed = 1;
  bool barriers_by_count = false;
  bool has_atomics = false; // the raw kernel: other blocks may have a share in an element
  bool same_code = false;   // at the default: nothing to be asked of it
  int jobs = 1;
  std::chrono::steady_clock::time_point deadline;
};

struct LargeSizeFindings {
  std::vector<std::string> problems; // one for each dimension at most
  std::vector<std::string> evidence;
};

// Each dimension is made so large that a buffer has more than 2^32 elements, 2^31, or 2^32 bytes, whichever
// is the most that the raw kernel's first, last and some blocks between run clean at. The template's blocks
// must do there what the raw kernel's do: the same where both launches are of one geometry, and otherwise
// nothing but what the blocks do that hold the same share of the grid; each only as far as it is so at a
// hundredth of the size, where everything fits. Elements that blocks of both have written are the same at
// every size. The findings of each question, which are asked beside each other, with the first one's jobs and
// deadline.
std::vector<LargeSizeFindings> compare_at_large_sizes(const std::vector<LargeSizes>& questions);

} // namespace lathe::refactor
