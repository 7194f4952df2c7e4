// The launches that a program has for one kernel and the same arguments: which of its integers the program
// itself varies.
#pragma once

#include "refactor/app/raw_candidate.h"

namespace lathe::refactor {

// First the launch that `raw` is of, then those that have the same arguments, types and switches at the
// kernel and other template arguments; empty where there are none of these. A launch that is reached under
// conditions which are not over sizes, and not the first one's too, is left out, and so is one whose needs
// no size that the first one serves meets. What only chooses between launches is no need: that a size is at
// least so large, or no multiple of a tile, or, where the grid covers that size in tiles, at most so large.
std::vector<ProgramLaunch> program_launches(const KernelInfo& kernel, const ExtractedKernel& extracted,
                                            const WorkloadFacts& facts, const LaunchOverride& launch,
                                            const std::string& architecture, const RawCandidate& raw);

} // namespace lathe::refactor
