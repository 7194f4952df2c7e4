// Necessary conditions on partial assignments.
#pragma once

#include "tuner/space/term.h"

#include <optional>
#include <vector>

namespace lathe::space {

// For a conjunct and a level, derives a condition over the parameters up to that level that every valid
// completion meets: ranges of products and sums, and divisibility by partial products.
class Bounds {
public:
  Bounds(TermPool& pool, const std::vector<int>& level_of) : pool_(pool), level_of_(level_of) {}

  // True for every partial assignment that some completion makes `boolean` true; fails only where `boolean`
  // fails for every completion.
  TermId possible(TermId boolean, int level);
  int level_of(TermId term);

private:
  bool known(TermId term, int level) { return level_of(term) <= level; }
  // A term over known parameters that is never above (below) the value of an integer term that has one.
  TermId bound(TermId term, int level, bool upper);
  std::optional<TermId> bound_operation(const Term& term, int level, bool upper);
  TermId possible_order(const Term& term, int level);
  TermId possible_equality(const Term& term, int level);
  TermId possible_division(TermId dividend, TermId divisor, int level);
  // The product of the known factors; nothing when there is none. Each of the factors is one of `term`'s.
  std::optional<TermId> known_factor(TermId term, int level);
  TermId both(TermId a, TermId b) { return pool_.apply(Op::logical_and, a, b); }
  TermId always() { return pool_.constant(1); }

  TermPool& pool_;
  std::vector<int> level_of_; // grows with the pool
};

} // namespace lathe::space
