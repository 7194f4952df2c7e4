// Rules that change the code at the defaults, for the sake of others that find more then.
#pragma once

#include "tuner/spec/spec.h"

#include <vector>

namespace lathe::refactor {

inline constexpr const char* INLINING = "inline-helpers";

// Whether the first has more knobs that change what threads do (block, tile, vector, ...) than the second.
// Others (how often a loop is unrolled, a cache's policy, a size that the compiler knows) leave that to the
// compiler, and gain less than what is lost where the default is no longer the raw kernel's own code: its
// evidence is runs alone then, and the gain is judged against another kernel.
bool deals_out_more(const std::vector<Knob>& knobs, const std::vector<Knob>& others);

} // namespace lathe::refactor
