// Whether a template's grid still covers the problem at sizes that nothing here can run.
#pragma once

#include "refactor/guard/checks.h"

namespace lathe::refactor {

// Evaluates both launches at sizes up to 2^24 times those of the configuration. Each block of a template
// that does not ask for the grid's size does a fixed share of the raw blocks' work: where the raw grid grows
// on and the template's does not keep up, or passes an axis's limit long before the raw one does, work is
// left undone. Says what is wrong, or nothing; nothing, too, where there is no LLVM IR to tell whether blocks
// ask, of which other checks are undecided.
std::string coverage_problem(const JudgedPair& subject, const Configuration& configuration);

} // namespace lathe::refactor
