// How the threads of a kernel talk to each other.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <string>

namespace lathe::refactor {

// `griddepcontrol.*`: orders whole grids (programmatic dependent launch) and passes nothing between threads.
bool is_dependency_control(const clang::AsmStmt* statement);

// How the threads of a kernel talk to each other; empty when they do not: "__syncthreads", "shared memory",
// ...
std::string communication(const KernelView& view);

} // namespace lathe::refactor
