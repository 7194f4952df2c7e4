// Who else is at the memory that the rounds of a loop use, until the threads of the block next wait for each
// other.
#pragma once

#include "refactor/knobs/round_accesses.h"

namespace lathe::refactor {

// `__syncthreads();`
bool is_barrier(const KernelView& view, const clang::Stmt* statement);

// Why the statement may not run while the rounds do: it names memory that they store to, or stores to memory
// that they load. `except`: a part of it that is not looked at. A pointer that is only declared is looked at
// where it is used.
std::optional<std::string> touches(const KernelView& view, const clang::Stmt* statement,
                                   const std::vector<RoundAccess>& accesses,
                                   const clang::Stmt* except = nullptr);

// A place in memory of which the text does not say whose it is: behind a pointer that was loaded or is a part
// of an object, or an element of an object.
bool is_place_unknown(const KernelView& view, const clang::Stmt* part);

// Why something may run beside the rounds in the branch, of which all threads do some, that did not beside
// those of one thread, or that this thread ordered: between the barriers around the branch, or the ends of
// the kernel, which stand in straight line with it or with what is around it, something else is at the memory
// of the rounds, orders memory beyond the block, or jumps past the barrier behind. All threads must get to
// the branch.
std::optional<std::string> disturbed_between_barriers(const KernelView& view, const clang::IfStmt* branch,
                                                      const std::vector<RoundAccess>& accesses);

} // namespace lathe::refactor
