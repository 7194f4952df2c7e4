// Expressions of either dialect as Python, for the T1 sections that other tools read.
#pragma once

#include "tuner/expression/expression.h"

#include <map>
#include <optional>
#include <string>

namespace lathe::spec {

// Python text of the same meaning, with `constants` replaced by their values. Names in `non_negative` (and
// only those) may be taken to be integers of at least zero: C's `/` and `%` have a short Python form only
// there. Nothing when Python lacks the operation or a name of the form `device.x` is left.
std::optional<std::string> python_text(const Expression& expression,
                                       const std::map<std::string, Value>& constants,
                                       const std::vector<std::string>& non_negative);

// A constant as Python writes it.
std::string python_literal(const Value& value);

} // namespace lathe::spec
