// What sizes have to be multiples of.
#pragma once

#include "refactor/guard/subject.h"

#include <cstdint>
#include <map>
#include <string>

namespace lathe::refactor {

// For each dimension of `base` the least power of two whose first multiples are all admitted in its place, by
// the specification's conditions and by those of the raw kernel's launch; no more than the dimension is. By
// the values of the knobs, or at the defaults where there are none. Empty where `base` itself is not
// admitted.
std::map<std::string, std::int64_t> size_units(const JudgedPair& subject, const Problem& base,
                                               const std::map<std::string, std::string>& types,
                                               const KnobValues* knobs);

} // namespace lathe::refactor
