// What memory an address is in, as far as the text says: a buffer of the caller's, or an array on the chip.
#pragma once

#include "refactor/knobs/kernel_view.h"

namespace lathe::refactor {

struct MemoryBase {
  // A pointer parameter of the kernel, an array, or a pointer to a part of a shared array that its launch
  // alone decides (`b = a + n`); null where it is not known.
  const clang::VarDecl* variable = nullptr;
  bool on_chip = false;
  Polynomial offset; // from the variable's first element, where the address is one of its elements
};

// Of an address or of what a variable points to. Evaluated with what `view` keeps.
MemoryBase memory_base(const KernelView& view, const clang::Expr* address);
MemoryBase memory_base(const KernelView& view, const clang::VarDecl* variable);

// False when no byte can be of both: parts of shared memory under two names are taken for two arrays, as are
// a parameter and another one that is __restrict__. Unknown memory may be any.
bool may_overlap(const MemoryBase& one, const MemoryBase& other);

// Declares one pointer, which is never moved: no access of what it points to, and those through it are
// followed.
bool declares_fixed_pointer(const KernelView& view, const clang::DeclStmt* declaration);

// True for variables through which memory is reached: pointers, arrays, shared variables.
bool names_memory(const clang::VarDecl* variable);

} // namespace lathe::refactor
