// Variables in constant memory, which the host writes before it launches.
#pragma once

#include "refactor/extract/inclusions.h"

#include <set>

namespace lathe::refactor {

// Initial values for variables of `units` in constant memory that have none of their own, as text behind each
// declarator: what the host writes there is not known, and zeros would make factors, divisors and counts
// nothing. Real numbers are between 0.5 and 1.25, integers between 1 and 4, switches true, pointers null; an
// array gets no more than its first FILLED_ELEMENTS. Their names go to `filled`. Left alone: what has
// constructors or unions, is a template's or comes out of a macro.
inline constexpr unsigned FILLED_ELEMENTS = 1024;
std::vector<Replacement> constant_memory_values(ParsedSourceImpl& source,
                                                const std::vector<const clang::Decl*>& units,
                                                std::set<std::string>& filled);

} // namespace lathe::refactor
