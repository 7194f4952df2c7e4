// How many threads a block may have by the registers of the raw kernel.
#pragma once

#include "refactor/app/raw_candidate.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// Halves guessed sizes that the launch's block follows, the largest first, until a block's threads have no
// more registers than the architecture's multiprocessors hold: at others the raw kernel cannot be launched.
// `notes` says so. Leaves the problems alone where the kernel does not compile or no size decides the block.
void fit_to_registers(const Candidate& raw, const std::string& architecture, std::vector<Problem>& problems,
                      std::vector<std::string>& notes);

} // namespace lathe::refactor
