// What a statement does that later loads of global memory may have to wait for.
#pragma once

#include "refactor/knobs/kernel_view.h"

namespace lathe::refactor {

struct StatementEffects {
  bool leaves = false; // it may leave the block that it stands in: return, a break of a loop around it, ...
  // It orders memory beyond the block, or may: volatile assembly (griddepcontrol.wait), fences, atomics,
  // grid-wide barriers, calls of what is not known.
  bool orders_memory = false;
  // Global memory may be another one behind it: a store, a barrier behind which other threads' stores show, a
  // method that is not known.
  bool changes_memory = false;
  // It takes long or makes the compiler keep what follows behind it: loops, quotients of reals, functions.
  bool is_slow = false;
};

// Of the statement and of the functions of the file that it calls. What only shared memory and local
// variables see is no change.
StatementEffects effects_of(const KernelView& view, const clang::Stmt* statement);

// True when the value cannot depend on when it is computed, as long as the variables that it names stay the
// same: arithmetic over integers, reals and addresses; no assignment, nothing read from memory, no call but
// of functions of the file that are one expression.
bool is_plain_value(const KernelView& view, const clang::Expr* value);

// The local variables and parameters that the statement names.
std::set<const clang::VarDecl*> variables_in(const KernelView& view, const clang::Stmt* statement);

} // namespace lathe::refactor
