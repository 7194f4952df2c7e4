// Calls of functions that do a kernel's work: each could as well stand in the kernel itself.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <optional>
#include <vector>

namespace lathe::refactor {

// A call of a function that is called nowhere else, as a statement of the kernel's own.
struct HelperCall {
  const clang::FunctionDecl* helper = nullptr; // its definition; of a template the pattern
  const clang::CallExpr* call = nullptr;
  const clang::Stmt* statement = nullptr;    // that holds the call: `f(x);`, `float y = f(x);`, `y = f(x);`
  const clang::ReturnStmt* result = nullptr; // of a helper with a value: its last statement, and only return
  const clang::VarDecl* assigned = nullptr;  // what gets that value
  bool is_in_block = false;                  // what it declares is known to the end of a block
};

// Those whose helper reaches memory through its parameters and goes through it in loops or by the thread's
// number: what the rules look for in a kernel. None of methods, specialised functions or those that the
// kernel calls more than one overload of, of functions that call themselves, have labels or static variables,
// or return from their middle where the kernel goes on.
std::vector<HelperCall> helper_calls(const KernelView& view);

} // namespace lathe::refactor
