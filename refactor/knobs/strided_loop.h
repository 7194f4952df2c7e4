// Loops that deal elements out to the threads of a block, round by round, and who has which element.
#pragma once

#include "refactor/knobs/launch_expression.h"

#include <clang/AST/Stmt.h>

namespace lathe::refactor {

// The counter of a loop under study, as an atom: two loops with the same header compare equal.
inline const char* const loop_atom = "loop";

// for (T i = start; i < bound; i += step), with i changed nowhere else.
struct StridedLoop {
  const clang::ForStmt* loop = nullptr;
  const clang::Stmt* statement = nullptr;     // the loop with its pragmas
  const clang::CompoundStmt* block = nullptr; // null: it is all that a statement around it does
  const clang::VarDecl* counter = nullptr;
  const clang::Expr* bound = nullptr;
  const clang::Expr* step_by = nullptr; // null: one
  Polynomial start, step, limit;
  // With knobs by their names: one of them may be the block's size.
  Polynomial start_by_names, step_by_names;

  bool counts_rounds() const { return start.is_zero() && step.as_constant() == 1; }
  bool same_header(const StridedLoop& other) const {
    return start == other.start && step == other.step && limit == other.limit && block == other.block;
  }
};

// True when the body changes the variable, or hands it to something that may.
bool may_change(const KernelView& view, const clang::Stmt* body, const clang::VarDecl* variable);

std::optional<StridedLoop> read_strided_loop(const KernelView& view, const clang::ForStmt* loop);

// Every such loop of the kernel's own body that is a statement of a block, in order.
std::vector<StridedLoop> strided_loops(const KernelView& view);

// True when every atom is a built-in, a template parameter, a constant under study, an unmodified kernel
// parameter or the counter under study: the same value wherever the kernel computes it.
bool is_stable(const KernelView& view, const Polynomial& value);

// index == each * (thread + threads * round) + rest, `thread` the number of the thread in its block and
// `threads` the block's size: no two threads and no two rounds have an element in common. Nothing when the
// index is not of that form. The counter of the loop must be kept as `loop_atom`.
struct Share {
  Polynomial each, rest;
};
std::optional<Share> share_of(const StridedLoop& loop, const Polynomial& index, const LaunchFacts& facts);

// Block-wide or grid-wide: the counter starts at the thread's number and steps by the number of threads.
bool deals_out_in_turn(const StridedLoop& loop, const LaunchFacts& facts);

} // namespace lathe::refactor
