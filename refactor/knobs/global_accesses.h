// Loads and stores of global memory through pointer parameters, as they are written.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <vector>

namespace clang {
class BinaryOperator;
}

namespace lathe::refactor {

struct GlobalAccess {
  const clang::Expr* place = nullptr;           // p[i] or *p
  const clang::BinaryOperator* store = nullptr; // place = value, a statement; null: the value is read
  const clang::ParmVarDecl* pointer = nullptr;
};

// Those of `function`, through its own parameters and what is computed from them, in the order of the text.
// What changes a place in another way (+=, a reference to it) is not among them.
std::vector<GlobalAccess> global_accesses(const KernelView& view, const clang::FunctionDecl* function);

} // namespace lathe::refactor
