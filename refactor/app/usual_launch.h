// The launch of a kernel that nobody is seen to launch.
#pragma once

#include "refactor/extract/extract.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// Kernels that a program in another language launches (Rust, Python), or by a function that cannot be read:
// where the kernel's threads have nothing to do with each other, it is given as many threads as it holds
// their numbers against, in blocks of a usual size, or of the size that its launch has where that can be
// read; `notes` says so. Of another kernel, of whose launch only the grid cannot be read, the sides of the
// grid are sizes of their own. `kernel` is as in its own file, `extracted` its self-contained text. Does
// nothing where a launch can be read, or where the block's size means more to the kernel and is not known.
void assume_launch(const ExtractedKernel& extracted, const ParseOptions& options, KernelInfo& kernel,
                   std::vector<std::string>& notes);

} // namespace lathe::refactor
