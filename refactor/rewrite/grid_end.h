// What blocks behind the raw grid's end would do. Internal to this folder.
#pragma once

#include "refactor/rewrite/rule_support.h"

namespace lathe::refactor {

// A block does what so many blocks did, along x: the new launch, and the condition that the number divides
// the grid or that blocks behind the grid's end do nothing. They do where, before anything is read or
// written, an index that grows with blockIdx.x is held against a bound. `why`, and what is added where there
// is such a guard, explain the condition. Read where knobs have their defaults.
void divide_grid(const KernelView& view, const KernelInfo& kernel, const Candidate& candidate,
                 const std::string& knob, const std::string& why, const std::string& where_guarded,
                 Proposal& proposal);

} // namespace lathe::refactor
