// Where two launches of one kernel leave over different parts of the work: sizes that their tiles do not
// divide. Internal to this folder.
#pragma once

#include "refactor/rewrite/launch_facts.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// Remainders, "(n) % (64)", of the divisions that round down in one grid and are not the same in the other:
// what these drop is no block's. Both launches do the same work where all of them are 0.
std::vector<std::string> whole_tiles_of_launches(const LaunchGeometry& first, const LaunchGeometry& second);

// Remainders of the divisions and of the loops' steps in the kernel that differ between two candidates of the
// same text; of divisions that round up only where no grid rounds the same size up, as of a loop's rounds.
std::vector<std::string> whole_tiles_of_kernels(ParsedSource& source, const KernelInfo& kernel,
                                                const Candidate& first, const Candidate& second);

} // namespace lathe::refactor
