// What all threads of a block have alike, and where all of them come by.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <optional>
#include <string>

namespace lathe::refactor {

// True when every thread of a block has the same value, whenever it computes it: arithmetic over constants,
// parameters, blockIdx, sizes of the launch, what is loaded through a pointer to const with __restrict__, and
// variables that are set once to such values or count the rounds of a loop that all threads run alike. What
// shared memory holds is none: another thread may change it meanwhile.
bool is_block_uniform(const KernelView& view, const clang::Stmt* value);
bool is_block_uniform(const KernelView& view, const clang::VarDecl* variable);

// Why some threads of a block may not get to the statement of the kernel when the others do, or as often:
// a condition or a loop around it that is not block-uniform, a jump before it that is not every thread's.
std::optional<std::string> kept_from_some_threads(const KernelView& view, const clang::Stmt* statement);

} // namespace lathe::refactor
