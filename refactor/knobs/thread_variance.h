// Which values may be others in other threads of a block, or of a grid.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <clang/AST/Expr.h>

namespace lathe::refactor {

// `spans_grid`: among the threads of all blocks; otherwise of one.

// threadIdx, and for `spans_grid` blockIdx.
bool is_of_a_thread(const clang::Expr* expression, bool spans_grid);

// True when threads may have other values of it: what it is computed from names their number, is not known,
// or changes while the kernel runs other than as the counter of a loop that all run alike. What shared memory
// holds is one value for a block.
bool varies_between_threads(const KernelView& view, const clang::VarDecl* variable, bool spans_grid);
bool varies_between_threads(const KernelView& view, const clang::Stmt* statement, bool spans_grid);
// Of what the function gives where its arguments are alike.
bool call_varies_between_threads(const KernelView& view, const clang::CallExpr* call, bool spans_grid);

} // namespace lathe::refactor
