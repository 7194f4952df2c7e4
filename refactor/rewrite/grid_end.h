// What blocks behind the raw grid's end would do. Internal to this folder.
#pragma once

#include "refactor/rewrite/rule_support.h"

namespace lathe::refactor {

// The condition, as a Lathe expression, that blocks from the candidate's grid's end on (along x) do nothing:
// before anything is read or written, an index that grows with blockIdx.x is held against a bound. "" when
// there is no such guard. Read where knobs have their defaults.
std::string nothing_beyond_grid(const KernelView& view, const KernelInfo& kernel, const Candidate& candidate);

} // namespace lathe::refactor
