// Variables that are declared first and set later, as C was written: `int i; ... i = threadIdx.x;`.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <vector>

namespace lathe::refactor {

struct LateVariable {
  const clang::VarDecl* variable = nullptr;
  const clang::DeclStmt* declaration = nullptr;
  // Assignments `i = first` that can each be a declaration instead, `int i = first`, so that what is declared
  // there is all that the uses behind it need: a statement of a block, or the start of a for loop.
  std::vector<const clang::Expr*> assignments;
};

// The numbers and pointers of the kernel, and of the functions that it may call, that have no value where
// they are declared and need none: each of their uses stands behind an assignment that always comes first, in
// the block of that assignment. None of a function with labels, and none whose address is taken, that a
// reference or a lambda names, or that a macro mentions.
std::vector<LateVariable> late_variables(const KernelView& view);

} // namespace lathe::refactor
