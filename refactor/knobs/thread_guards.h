// Conditions that select threads by a size of the problem: thread < n, thread == n - 1, warp < rows.
#pragma once

#include "refactor/knobs/kernel_view.h"

#include <optional>
#include <string>

namespace lathe::refactor {

// Threads that a size of the problem selects, one for each element: thread < n. Or what every thread of a
// group has alike, group < n.
struct ThreadGuard {
  const clang::Expr* limit = nullptr; // known before the launch, if at all
  std::int64_t more = 0;              // numbers that are told apart beyond it: 1 for thread == n
  std::int64_t group = 1;             // threads of a number
};

// The size of the groups that "(thread/G)" numbers in the polynomial, where it has such an atom.
std::optional<std::int64_t> group_size(const Polynomial& value, const std::string& thread);
// The atom of the number of a thread's group.
std::string group_thread(const std::string& thread, std::int64_t size);

// `thread`: the atom of the thread's own number ("threadIdx.x"). Nothing for comparisons with what the
// thread, the block's number or its size decides, or with anything that changes while the kernel runs.
std::optional<ThreadGuard> thread_guard(const KernelView& view, const std::string& thread,
                                        const clang::BinaryOperator* comparison);

// Whether only threads below such a limit, or the one at it, get to the statement: as many as the limit says,
// whatever the block size is.
bool is_guarded(const KernelView& view, const std::string& thread, const clang::Stmt* statement);

} // namespace lathe::refactor
