// Loads of global memory that could be asked for before what stands in front of them in the text.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <string>
#include <variant>
#include <vector>

namespace lathe::refactor {

struct EarlyLoad {
  const clang::Expr* place = nullptr; // p[i] or *p, of which the value is read
  clang::QualType type;               // of the value
  // Under which the load happens, outermost first; false: where the condition does not hold.
  std::vector<std::pair<const clang::Expr*, bool>> conditions;
  // It may happen in front of this statement of a block, the first that takes long: what is loaded before
  // that stays in front, as more may depend on it.
  const clang::Stmt* before = nullptr;
};

// The proof obligation for each load and everything that stands between `before` and it:
//  - nothing in between jumps away, orders memory beyond the block, or changes what the address and the
//  conditions are
//    computed from, which are plain values;
//  - nothing in between changes global memory, or the load is through a pointer to const with __restrict__,
//  behind which
//    nothing changes while the kernel runs.
// Then the same address is read, by the same threads, with the same result. Loads with nothing in between
// that takes long or that compilers keep in order (a loop, a barrier, a quotient of reals) are left out: the
// compiler moves them. Otherwise why there is none, in a sentence.
std::variant<std::string, std::vector<EarlyLoad>> find_early_loads(const KernelView& view);

} // namespace lathe::refactor
