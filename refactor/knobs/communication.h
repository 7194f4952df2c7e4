// How the threads of a kernel talk to each other.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <string>

namespace lathe::refactor {

// How the threads of a kernel talk to each other; empty when they do not: "__syncthreads", "shared memory",
// ...
std::string communication(const KernelView& view);

} // namespace lathe::refactor
