// Reductions over a block whose second stage, over the warps' results, is the first warp's, and whose result
// reaches the other threads through shared memory behind one more barrier.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <string>
#include <variant>
#include <vector>

namespace clang {
class BinaryOperator;
class IfStmt;
} // namespace clang

namespace lathe::refactor {

struct BlockReduction {
  // The function that has the second stage: the kernel or a helper that returns what it computes.
  const clang::FunctionDecl* function = nullptr;
  // `if (warp == 0) { ... }` behind a barrier: from the warps' results on, it computes the same in any warp.
  const clang::IfStmt* second_stage = nullptr;
  // What it leaves, the same in all lanes.
  const clang::VarDecl* result = nullptr;
  // Where the result goes: a shared variable, or the first element of a shared array.
  const clang::VarDecl* shared = nullptr;
  bool is_element = false;
  // `shared = ...` in the kernel, and the outermost branch around it that is not the second stage; null where
  // the stage itself has it.
  const clang::BinaryOperator* store = nullptr;
  const clang::IfStmt* store_branch = nullptr;
  const clang::Stmt* barrier = nullptr; // behind which all threads read it
  // Every mention of the shared place: as the variable or as the element.
  std::vector<const clang::Expr*> uses;
};

// The first such reduction of the kernel in which the barrier is there for nothing else: what the second
// stage reads is not written again before the next barrier, and what is stored in between is not read behind
// it. Otherwise why there is none, in a sentence. `threads_x`: of a block's first axis, where that is a
// number; `is_flat`: the block has no other axis.
std::variant<std::string, BlockReduction> find_block_reduction(const KernelView& view, std::int64_t threads_x,
                                                               bool is_flat);

} // namespace lathe::refactor
