// How far a template's results may lie from the raw kernel's.
#pragma once

#include "tuner/spec/spec.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// The specification's tolerance for this dtype, but never more than eight times as wide as what the dtype
// itself calls for (an integer: one): a specification is its template's author's word. `magnitude`: of the
// reference; `terms`: operations that each output comes from, about, for what another order of them may
// change (reordering_share).
Tolerance allowed_tolerance(const TuningSpec& spec, const std::string& dtype, double magnitude, double terms);

// A sentence for each tolerance of the specification that is wider than what its dtype calls for.
std::vector<std::string> widened_tolerances(const TuningSpec& spec);

} // namespace lathe::refactor
