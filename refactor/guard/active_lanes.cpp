#include "refactor/guard/active_lanes.h"

#include "refactor/guard/checks.h"

#include <algorithm>

namespace lathe::refactor {

bool asks_for_active_lanes(const JudgedPair& subject) {
  return std::ranges::any_of(fact_pairs(subject), [](const FactPair& pair) {
    return pair.raw && pair.templated && pair.templated->calls.contains(ACTIVE_MASK) &&
           !pair.raw->calls.contains(ACTIVE_MASK);
  });
}

} // namespace lathe::refactor
