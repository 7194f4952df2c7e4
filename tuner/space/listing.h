// Writing out every valid point.
#pragma once

#include "tuner/space/group.h"

#include <vector>

namespace lathe::space {

// The points that the enumerated groups leave together, one behind the other, in lexicographic order of the
// parameters, of which there are `width`. `total`: how many they are.
std::vector<std::uint16_t> list_points(const std::vector<Group>& groups, std::size_t width,
                                       std::size_t total);

} // namespace lathe::space
