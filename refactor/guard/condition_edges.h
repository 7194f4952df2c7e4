// Sizes at which conditions just still admit a configuration.
#pragma once

#include "refactor/guard/shapes.h"

#include <memory>
#include <vector>

namespace lathe::refactor {

// For each condition of the specification that ties dimensions to knobs and each of these dimensions: the
// size like `base` but for that dimension, which is the largest for which the condition holds and the next
// does not, where the raw kernel's launch and the configuration admit it. A condition that allows one too
// many shows there and nowhere else. `base` is admitted; each size once, `most` at most.
std::vector<std::shared_ptr<const Workload>> edge_shapes(const JudgedPair& subject,
                                                         const Configuration& configuration,
                                                         const Workload& base, const ShapeLimits& limits,
                                                         std::size_t most);

} // namespace lathe::refactor
