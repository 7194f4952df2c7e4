// How many threads a kernel wants whose threads have nothing to do with each other.
#pragma once

#include "refactor/frontend/frontend.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace lathe::refactor {

// What can be said of a launch by the kernel alone.
struct IndependentThreads {
  // Threads along x, y and z, as expressions over the kernel's integer parameters; "1" along an axis that
  // tells no threads apart.
  std::array<std::string, 3> counts{"1", "1", "1"};
  std::optional<std::int64_t> largest_block; // by its launch bounds, where these are a number
};

// Holds where the kernel's threads share nothing (no shared memory, no barrier, nothing of a warp) and are
// told apart by their numbers alone, each held against one bound (`if (i < n)`, `for (i = ...; i < n; ...)`):
// blockIdx.x * blockDim.x + threadIdx.x and the same of y and z, or the one number of a grid of two axes,
// (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x. Any block then computes the same.
// `source` is the kernel's self-contained text.
std::optional<IndependentThreads> independent_threads(ParsedSource& source, const KernelInfo& kernel);

} // namespace lathe::refactor
