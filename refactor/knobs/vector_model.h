// Decides whether a constant is the number of elements that a thread takes at once, and what another number
// needs.
#pragma once

#include "refactor/knobs/whole_rounds.h"

#include <variant>

namespace lathe::refactor {

struct VectorModel {
  std::set<std::string> divided_parameters; // kernel parameters that must be a multiple of the constant
  std::set<std::string> divided_constants;  // template parameters that must be, too
  std::vector<WholeRounds> whole_rounds;    // of which it is a part: nothing may be left over
  bool grid_follows = false;                // the index over blocks counts packs: the grid must follow
  std::vector<TextRange> pack_types;        // `uint4` and the like that carry one pack: they move with it
  std::string pack_element;                 // the type whose size the constant divides: "T"
  std::int64_t pack_bytes = 0; // bytes of one pack at the default, where the constant is N / sizeof(T)
  std::string evidence;
};

struct VectorRefusal {
  std::string reason;
};

// The obligation: the constant scales an index (i * C), divides a count (n / C, n % C), is the trip count of
// a loop over the pack or the extent of an array or vector type, and nothing else; every address that holds a
// multiple of it is otherwise a multiple of parameters that are then required to be divisible. Where rounds
// are counted by a quotient by it (whole_rounds), what they cover has to be whole. Where the constant is N /
// sizeof(T) and the kernel carries packs in a built-in vector type of N bytes, that type moves with it; where
// such a type's members are named, the constant is refused.
std::variant<VectorRefusal, VectorModel> analyse_vector(KernelView& view, const clang::ValueDecl* constant);

// N and T where the expression is N / sizeof(T) with a literal N.
struct BytesOverSize {
  std::int64_t bytes = 0;
  std::string type;
};
std::optional<BytesOverSize> bytes_over_size(const KernelView& view, const clang::Expr* expression);

} // namespace lathe::refactor
