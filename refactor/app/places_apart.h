// Integers in memory that say where a thread writes (slots of a cache, places in a sorted order).
#pragma once

#include "refactor/app/traced_growth.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// Where they are all zero, threads write to the same place: neither does the result say anything, nor the
// time. Where each holds another number that is no longer so, the runs are traced anew with those, and the
// specification fills the integers so. Fails where threads do not clash, or no such integers help.
// `kernel` is `raw`'s, compiled, and keeps what it is told; `with_zeros` is what it traced.
Result<Growth> trace_with_places_apart(Candidate& raw, const std::string& architecture, TracedKernel& kernel,
                                       const Growth& with_zeros, std::vector<std::string>& notes);

} // namespace lathe::refactor
