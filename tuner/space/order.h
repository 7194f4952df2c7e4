// In which order to branch on the parameters of a group.
#pragma once

#include "tuner/space/term.h"

#include <vector>

namespace lathe::space {

// Greedy: next comes the parameter after which the fewest states have to be told apart.
std::vector<std::int32_t> narrow_order(const TermPool& pool, const std::vector<TermId>& conjuncts,
                                       const std::vector<std::int32_t>& parameters);

} // namespace lathe::space
