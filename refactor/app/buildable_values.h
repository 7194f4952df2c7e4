// Values of knobs that the kernel's own types do not support: no pack of that many bytes, no specialisation.
#pragma once

#include "refactor/rewrite/rewrite.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// Takes out of the knobs that shape types (widths of packs, tiles), and of numbers of threads where the text
// asserts something, each value with which the candidate does not compile, the other knobs at their defaults,
// for some element type whose conditions admit it; what is taken out is said in `notes`. Nothing is taken
// where the defaults do not compile: that is the guard's to say. Nor do knobs keep numbers of threads for
// which the architecture has no registers.
Status keep_buildable_values(Candidate& candidate, const std::string& architecture,
                             std::vector<std::string>& notes);

} // namespace lathe::refactor
