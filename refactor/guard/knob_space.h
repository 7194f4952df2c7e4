// The configurations that a specification admits at one workload, as a space to draw from.
#pragma once

#include "refactor/guard/subject.h"
#include "tuner/space/space.h"

#include <vector>

namespace lathe::refactor {

// The default's values are among each knob's. `more_conditions`: beside the specification's. Fails where
// nothing is admitted.
Result<Space> knob_space(const TuningSpec& spec, const Workload& workload,
                         const std::vector<Expression>& more_conditions = {});

// Whether the knob decides who does which work: unrolling, occupancy, cache hints and sizes that are fixed
// leave every element with its thread.
bool deals_out_work(const Knob& knob);

} // namespace lathe::refactor
