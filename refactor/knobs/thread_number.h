// How many threads a kernel wants whose threads have nothing to do with each other.
#pragma once

#include "refactor/frontend/frontend.h"

#include <cstdint>
#include <optional>
#include <string>

namespace lathe::refactor {

// What can be said of a launch by the kernel alone.
struct IndependentThreads {
  std::string count;                         // an expression over the kernel's integer parameters
  std::optional<std::int64_t> largest_block; // by its launch bounds, where these are a number
};

// Holds where the kernel's threads are told apart by blockIdx.x * blockDim.x + threadIdx.x alone, held
// against one bound (`if (i < n)`, `for (i = ...; i < n; ...)`), and share nothing: no shared memory, no
// barrier, nothing of a warp. Any block then computes the same. `source` is the kernel's self-contained text.
std::optional<IndependentThreads> independent_threads(ParsedSource& source, const KernelInfo& kernel);

} // namespace lathe::refactor
