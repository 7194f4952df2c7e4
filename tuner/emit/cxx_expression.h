// Lathe expressions as C++17 source text for the exported header.
#pragma once

#include "tuner/base/result.h"
#include "tuner/expression/expression.h"

#include <functional>
#include <optional>
#include <string>

namespace lathe {

// The C++ spelling of a name; nothing when the header cannot know it.
using CxxName = std::function<std::optional<std::string>(std::string_view name)>;

// An expression of the same value in 64-bit arithmetic, fully parenthesised. Comparisons of numbers, which
// the spellings of knobs are, and what they decide are written as what they come to. The header's helpers
// `minimum`, `maximum`, `ceil_div`, `greatest_divisor`, `logarithm2` and `power_of_two` stand for the
// language's functions. Fails on names that are unknown and on real division, floor division and strings,
// which no launch geometry or condition over integers needs.
Result<std::string> cxx_expression(const Expression& expression, const CxxName& name);

} // namespace lathe
