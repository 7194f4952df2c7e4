// Nests of two loops of which the outer one alone is dealt out to threads, and both could be.
#pragma once

#include "refactor/knobs/element_work.h"
#include "refactor/knobs/strided_loop.h"

#include <clang/AST/Stmt.h>

#include <string>
#include <variant>
#include <vector>

namespace lathe::refactor {

struct CollapsibleNest {
  StridedLoop outer, inner;
  std::vector<const clang::DeclStmt*> between; // what a round of `outer` declares in front of `inner`
  // The rounds of both together are fewer than 2^31, by the kernel's own index of what every round stores.
  bool counts_in_32_bits = false;
  // The rounds are dealt out to the threads of all blocks.
  bool spans_grid = false;
  // Accesses of the inner loop's body whose neighbouring columns can be moved at once: no other access of a
  // round is of the same element. Where two rows are aligned all are.
  std::vector<ElementAccess> neighbours;
};

// The proof obligation, for `for (i = thread; i < N; i += threads) { declarations; for (j = 0; j < M; ++j)
// ... }`, `thread` and `threads` those of the block or of the grid:
//  - a round (i, j) computes from i, j and what every thread has alike: nothing that it names depends on the
//  thread or is changed outside of the round, nothing that it does lasts but its stores; it does not jump
//  away or order memory;
//  - each store has an index of its own for each round, as A * i + B * j + rest with A a multiple of B that
//  is M times it or more, or the other way round, or as [i][j];
//  - what a round loads is what no other round stores: another buffer, or the element that it stores itself.
//  Pointers to different places of one shared array are taken for different arrays; parameters may be the
//  same buffer unless one of them is __restrict__;
//  - between the barriers around the nest (or the ends of the kernel) nothing else names what the nest stores
//  or stores what it loads; where blocks share the rounds, nothing else in the kernel does.
// Then who has which round is no matter, within the block or, for loops over the grid, in the grid. Otherwise
// why there is no such nest, in a sentence.
std::variant<std::string, std::vector<CollapsibleNest>> find_collapsible_nests(KernelView& view,
                                                                               const LaunchFacts& facts);

} // namespace lathe::refactor
