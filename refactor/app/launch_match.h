// Whether a launch in somebody's source is the one that a specification's header makes in its place.
#pragma once

#include "refactor/frontend/frontend.h"
#include "tuner/spec/instance.h"
#include "tuner/spec/spec.h"

namespace lathe::refactor {

// What each dimension of the specification is at the launch, as an expression over the launcher's own
// dimensions.
using DimensionNames = std::map<std::string, std::string>;

// Fails, saying what differs and what to do, unless the launch has the template arguments, the grid, the
// block, the shared memory and the integers of `reference`, which is one of the instances that the
// specification's raw kernel is. Expressions are compared by their values at the specification's problems and
// at sizes beside them, for every type that the launch uses.
Result<DimensionNames> match_launch(const TuningSpec& spec, const spec::InstanceCase& reference,
                                    const LaunchSite& site);

} // namespace lathe::refactor
