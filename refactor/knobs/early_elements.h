// Elements that only a later one of several loops with the same header loads, and that the first could ask
// for.
#pragma once

#include "refactor/knobs/kept_elements.h"

namespace lathe::refactor {

struct EarlyElements {
  std::size_t loop = 0; // of KeptElements::loops: which of them loads
  BufferAccess access;
  std::string object_type; // that a method fills, as written; "": the element is read as a value
  clang::QualType element; // of which the value is read
  // What the address and the conditions need of the loop's own variables, in order; each declares one.
  std::vector<const clang::DeclStmt*> declarations;
  // Under which a round loads; false: where the condition does not hold.
  std::vector<std::pair<const clang::Expr*, bool>> conditions;
};

// The proof obligation:
//  - the pointer is to const with __restrict__: what is behind it does not change while the kernel runs;
//  - address and conditions are plain values of the round, of arguments and of variables that are set before
//  the first
//    loop and never again, so that the first loop computes the same ones in the same round;
//  - from the first loop to the later one, nothing jumps away or orders memory beyond the block.
// A method fills an object as kept_objects.h asks for. Empty where there are none.
std::vector<EarlyElements> find_early_elements(const KernelView& view, const KeptElements& kept);

} // namespace lathe::refactor
