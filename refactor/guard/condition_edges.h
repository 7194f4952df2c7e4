// Sizes at which conditions just still admit a configuration.
#pragma once

#include "refactor/guard/shapes.h"

#include <memory>
#include <vector>

namespace lathe::refactor {

// For each condition of the specification that ties dimensions to knobs and each of these dimensions: the
// size like `base` but for that dimension, which is the largest for which the condition holds and the next
// does not, or one shortly before it that the other conditions admit, where the raw kernel's launch and the
// configuration admit it. Dimensions that no problem has shorter are as long, where there is room for that. A
// condition that allows one too many shows there and nowhere else. `base` is admitted; each size once, `most`
// at most.
std::vector<std::shared_ptr<const Workload>> edge_shapes(const JudgedPair& subject,
                                                         const Configuration& configuration,
                                                         const Workload& base, const ShapeLimits& limits,
                                                         std::size_t most);

// For each condition of the specification over sizes alone, such as `window <= 64`, and each of its
// dimensions: the configuration's problem with that dimension as large as the condition admits, where it is
// not so already.
std::vector<Problem> problems_at_limits(const Configuration& configuration);

} // namespace lathe::refactor
