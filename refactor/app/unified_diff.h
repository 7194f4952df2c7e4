// The difference between two texts, as git and patch read it.
#pragma once

#include <string>

namespace lathe::refactor {

// Unified format with three lines of context, from a/`path` to b/`path`; empty where the texts are equal.
// Meant for texts that differ in few places: time and memory grow with the square of the number of changed
// lines.
std::string unified_diff(const std::string& path, const std::string& before, const std::string& after);

} // namespace lathe::refactor
