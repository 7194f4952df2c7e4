// Loops that a kernel leaves to the first thread of each block, and that all threads of the block could
// share.
#pragma once

#include "refactor/knobs/launch_expression.h"
#include "refactor/knobs/strided_loop.h"

#include <string>
#include <variant>
#include <vector>

namespace lathe::refactor {

struct FirstThreadLoops {
  const clang::IfStmt* branch = nullptr;  // if (threadIdx.x == 0 && ...) loops
  std::vector<const clang::Expr*> others; // what must hold besides, alike for all threads, in order
  std::vector<StridedLoop> loops;         // all that it does, beside declarations of constants
  bool along_x = true;                    // the block has one axis; otherwise x and y
};

// The proof obligation, for `if (threadIdx.x == 0) for (i = first; i < last; i += step) ...`:
//  - the condition picks the first thread of the block and no other one; all threads of the block get to it,
//  as often as the first;
//  - a round computes from i and what every thread has alike: nothing that it names depends on the thread or
//  is changed outside of the round, nothing that it does lasts but its stores; it does not jump away or order
//  memory;
//  - each store is to an element of its own for each round, `A * i + rest` with A a number other than zero
//  and `rest` the same in all rounds; what a round loads is what no other round stores. Pointers to different
//  places of one shared array are taken for different arrays; parameters may be the same buffer unless one of
//  them is __restrict__. The loops of a branch are not at each other's memory;
//  - between the barriers around the branch (or the ends of the kernel), which stand in straight line with it
//  or with what is around it, nothing else names what the rounds store or stores what they load, and nothing
//  orders memory beyond the block.
// Then what the first thread saw is what all threads see, who has which round is no matter, and whoever
// waited for the first thread waits for all. Otherwise why there is none, in a sentence.
std::variant<std::string, std::vector<FirstThreadLoops>> find_first_thread_loops(KernelView& view,
                                                                                 const LaunchFacts& facts);

} // namespace lathe::refactor
