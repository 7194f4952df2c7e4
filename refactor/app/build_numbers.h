// Sizes that a build's command line has and no source (`f"-DTmax={T_MAX}"` in a setup.py), or a header that
// it writes from a pattern (`#define SHARED @SHARED@` in a config.h.in).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::refactor {

// Of names that a source does not know, those that files of a build near it define as numbers (`-DNAME=`, or
// in CMake's lists of definitions) or as single or double precision, as "Tmax=1024": the number that is
// written there, or that the same file gives the variable that is, or else 64; 1 for a switch of a pattern
// (`#cmakedefine WITH_FFT`). What no file defines is left out, and so is a name that a command line defines
// without a value.
std::vector<std::string> numbers_of_build(const std::filesystem::path& source,
                                          const std::vector<std::string>& unknown);

} // namespace lathe::refactor
