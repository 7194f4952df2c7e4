// Problem sizes for a kernel that comes without any.
#pragma once

#include "refactor/app/raw_candidate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

// The size that a dimension of this name has in most models and programs, whatever the problem; nothing where
// the name does not say.
std::optional<std::int64_t> usual_size(const std::string& name);

// Sizes for a kernel that comes without a workload: guesses by the dimensions' names, within what a block may
// have on the architecture; each said in `assumptions`. `own_sizes`: of dimensions that the source fixes.
std::vector<Problem> usual_problems(const Candidate& raw,
                                    const std::map<std::string, std::int64_t>& own_sizes,
                                    const std::string& architecture, std::vector<std::string>& assumptions);

// Halves the largest of the problem's sizes of these names. False where none is above 1.
bool halve_largest(Problem& problem, const std::vector<std::string>& names);

// Halves guessed sizes, the largest first, until the buffers are no more than any device holds (a matrix of n
// by n is much larger than n says) and the integers that are passed no more than their types do. Each change
// is said in `assumptions`.
void fit_to_memory(const Candidate& raw, std::vector<Problem>& problems,
                   std::vector<std::string>& assumptions);

} // namespace lathe::refactor
