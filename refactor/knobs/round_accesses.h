// What one round of a nest of loops reads and writes in memory, and whether threads could swap rounds.
#pragma once

#include "refactor/knobs/memory_base.h"
#include "refactor/knobs/strided_loop.h"

#include <string>
#include <variant>
#include <vector>

namespace lathe::refactor {

// The counters of a nest under study, as atoms.
inline const char* const row_atom = "nest:row";
inline const char* const column_atom = "nest:column";

struct RoundAccess {
  MemoryBase base;
  std::vector<Polynomial> indices; // of p[i] one, of a[i][j] two; in terms of the counters' atoms
  bool stores = false, loads = false;
  // Every round computes the index, and in a signed type of 32 bits at most: without overflow, rounds are
  // fewer than 2^31 where each has an index of its own.
  bool bounds_rounds = false;
  clang::SourceLocation location;
};

// A round is `parts` of the nest `outer`, whose counters are kept as atoms in the view. Every access of
// memory that is not the round's own, or why a round is more than its counters and its accesses: it uses what
// depends on the thread (for `spans_grid`, on the block too) or changes outside of the round, jumps away,
// orders memory or calls what could.
std::variant<std::string, std::vector<RoundAccess>>
round_accesses(const KernelView& view, const clang::Stmt* outer, const std::vector<const clang::Stmt*>& parts,
               bool spans_grid);

// How a place in memory is used where it stands.
struct PlaceUse {
  bool stores = false, loads = false, known = false;
};
PlaceUse use_of_place(const KernelView& view, const clang::Expr* place);

} // namespace lathe::refactor
