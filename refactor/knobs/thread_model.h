// Decides whether a kernel is correct for every block size: how its work is dealt out to the threads of a
// block.
#pragma once

#include "refactor/knobs/thread_guards.h"
#include "refactor/knobs/whole_rounds.h"

#include <variant>

namespace lathe::refactor {

// The axis under study: the atom of the thread's index and the atom of the number of threads. The second is
// "blockDim.x", or the atom of a constant that the launcher uses as its block size.
struct ThreadAxis {
  std::string thread = "threadIdx.x";
  std::string count = "blockDim.x";
};

// What a kernel needs of the block size when every thread's work is dealt out by it.
struct ThreadModel {
  bool strided = false;       // a loop starts at the thread's index and steps by the number of threads
  bool guarded_index = false; // an index thread + count * k is compared with a bound
  std::set<std::string>
      grid_axes;                  // "blockIdx.x" where the index spans blocks: the grid must follow the block
  bool halving = false;           // a tree reduction halves the number of threads: a power of two
  bool warps = false;             // lanes and warps are told apart: a multiple of 32
  std::int64_t multiple = 1;      // the number of threads must be a multiple of this
  std::int64_t least = 1;         // some statement addresses this many threads
  std::vector<std::int64_t> most; // shared arrays hold this many threads at most
  bool block_in_addresses = false; // addresses depend on the block size other than through the thread's index
  bool free_grid = false;          // a loop steps by the whole grid: any number of blocks covers the work
  bool dynamic_by_thread = false;  // dynamic shared memory is addressed by threads or warps
  bool only_by_group = true;       // by warps alone: fewer of them use less of it
  std::vector<const clang::Expr*> count_uses; // reads of the number of threads, as written
  // Why another number of threads in all would run past the end: an index that no bound is held against.
  // Empty where every index has one. The same number of threads in other blocks computes the same either way.
  std::string unguarded;
  // The threads must be enough for each, in the raw launch too: it is then the same elements that have a
  // thread.
  std::vector<ThreadGuard> guards;
  // What rounds cover without a bound on the index: nothing may be left over.
  std::vector<WholeRounds> whole_rounds;
  std::string evidence; // where the work is dealt out: "line 20"
};

// The reason, one sentence, when some use of the thread's index or of the number of threads would compute
// something else with another block size.
struct ThreadRefusal {
  std::string reason;
};

// The proof obligation: every value computed from the thread's index is either
//  - the start of a loop that steps by the number of threads (times blocks where it starts at a block's
//  share),
//  - an index c * (thread + count * k) + rest, k a block index or a loop counter, that is compared with a
//  bound, or whose rounds are counted by a quotient (whole_rounds),
//  - a lane or warp number (thread % G, thread / G) used on shared memory, in comparisons, or as one of the
//  above,
//  - a comparison that selects threads (thread == 0, warp < number of warps, thread < n),
// the number of threads appears in steps, bounds, reductions and on-chip addresses only, and no value that
// one round of a stepped loop leaves to the next shows in what a round stores. `launcher_varies`: the raw
// launcher already uses several block sizes, so that addresses may depend on it. The analysis is of the
// kernel's text, not of the values a launcher passes; the guard's runs stand behind it.
std::variant<ThreadRefusal, ThreadModel> analyse_threads(KernelView& view, const ThreadAxis& axis,
                                                         bool launcher_varies);

} // namespace lathe::refactor
