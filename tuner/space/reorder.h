// Sums and products arranged for an order of the parameters.
#pragma once

#include "tuner/space/term.h"

#include <unordered_map>
#include <vector>

namespace lathe::space {

// Rewrites chains of one associative operator so that operands of lower levels come first: what is known of
// `c * a * b` after a and b is then one number, a * b. Chains that could overflow or fail on the way stay as
// they are.
class Reorder {
public:
  // `position_of_parameter`: its level, or -1.
  Reorder(TermPool& pool, const std::vector<int>& position_of_parameter)
      : pool_(pool), position_of_parameter_(position_of_parameter) {}

  TermId operator()(TermId term);

private:
  int level_of(TermId term);
  void collect(TermId term, Op op, std::vector<TermId>& operands) const;
  bool fits(Op op, const std::vector<TermId>& operands) const;

  TermPool& pool_;
  const std::vector<int>& position_of_parameter_;
  std::unordered_map<TermId, TermId> done_;
  std::unordered_map<TermId, int> levels_;
};

} // namespace lathe::space
