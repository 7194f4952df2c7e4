// What sizes have to be multiples of.
#pragma once

#include "refactor/guard/subject.h"

#include <cstdint>
#include <map>
#include <string>

namespace lathe::refactor {

// For each dimension of `base` the least of its divisors whose first odd multiples are all admitted in its
// place, by the specification's conditions and by those of the raw kernel's launch; the dimension itself
// where there is none. By the values of the knobs, or at the defaults where none are given. Empty where
// `base` is not admitted.
std::map<std::string, std::int64_t> size_units(const JudgedPair& subject, const Problem& base,
                                               const std::map<std::string, std::string>& types,
                                               const KnobValues* knobs);

} // namespace lathe::refactor
