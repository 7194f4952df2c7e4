// Kernels whose threads take one element each: the thread's number in the grid, held against a bound.
#pragma once

#include "refactor/knobs/element_work.h"
#include "refactor/knobs/launch_expression.h"

namespace lathe::refactor {

// const int i = blockIdx.x * blockDim.x + threadIdx.x;
// if (i >= bound || ...) return;  ...work...        or        if (i < bound && ...) { ...work... }
struct ThreadElement {
  const clang::VarDecl* number = nullptr; // i
  const clang::IfStmt* guard = nullptr;
  bool leaves = false;                           // the guard is the form that returns
  const clang::Expr* bound = nullptr;            // of i
  std::vector<const clang::Expr*> conditions;    // what else the guard asks, as written
  std::vector<const clang::Expr*> of_element;    // and of the element, whose neighbours may answer otherwise
  std::vector<const clang::DeclStmt*> dependent; // declared before the guard, and computed from i
  std::vector<const clang::Stmt*> work;          // behind the guard, or inside of it
  std::vector<ElementAccess> accesses;
};

// Holds when nothing but declarations stands before the guard and nothing behind the guarded work, the guard
// holds i against a bound, and a thread's work is an element's (element_work.h). Otherwise the reason.
std::variant<std::string, ThreadElement> read_thread_element(KernelView& view, const LaunchFacts& facts);

} // namespace lathe::refactor
