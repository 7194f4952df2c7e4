// Sizes that a build's command line has and no source (`f"-DTmax={T_MAX}"` in a setup.py).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::refactor {

// Of names that a source does not know, those that files of a build near it define as numbers, as
// "Tmax=1024": the number that is written there, or that the same file gives the variable that is, or
// else 64. What no file defines is left out, and so is a name that is defined without a value.
std::vector<std::string> numbers_of_build(const std::filesystem::path& source,
                                          const std::vector<std::string>& unknown);

} // namespace lathe::refactor
