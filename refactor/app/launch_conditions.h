// Guessed sizes and what the program asks of sizes before it launches.
#pragma once

#include "refactor/app/raw_candidate.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// Whether the condition is over what a division leaves: multiples of something.
bool has_remainder(const Expression& condition);

// Changes sizes, one or two at a time, so that the conditions under which the raw kernel is launched hold one
// after the other, as far as that is found: to powers of two, and to multiples of the numbers that a
// condition names. True where all hold; otherwise those do for which something was found.
bool meet_conditions(const std::vector<Expression>& launched_where, Problem& problem);

// Leaves out guessed problems at which a condition does not hold, for any choice of types; and where it does
// at none of them, the condition, which is said in `notes`: a specification whose problems break its
// conditions is refused.
void keep_to_conditions(Candidate& raw, std::vector<Problem>& problems, std::vector<std::string>& notes);

} // namespace lathe::refactor
