// Suggestions for misspelt names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::spec {

// An identifier of C++ and of the expression language.
bool is_identifier(std::string_view text);

// The candidates that `name` may be a misspelling of, nearest first, at most three.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates);

// A remedy: "did you mean VEC or VECS?", or "the known names are ..." when none is near.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

} // namespace lathe::spec
