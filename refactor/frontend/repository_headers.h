// Headers that no include folder has and that lie elsewhere in the source's repository.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::refactor {

// The folders from which these headers, as they are written in inclusions ("common/math.cuh"), can be
// included: of several files of a name the one nearest to the source. The repository is what is below the
// folder with .git, or a few folders above the source where there is none.
std::vector<std::filesystem::path> folders_of_headers(const std::filesystem::path& source,
                                                      const std::vector<std::string>& missing);

// A file from which a build writes a header: config.h.in, config.h.cmake.
struct HeaderPattern {
  std::string header;           // as inclusions name it
  std::filesystem::path folder; // from which the header could be included
  std::filesystem::path file;
};
std::vector<HeaderPattern> patterns_of_headers(const std::filesystem::path& source,
                                               const std::vector<std::string>& missing);

// The header that a build without choices writes: switches (#cmakedefine) are off, a number that the build
// fills in is 0 where its name is a switch's (USE_, WITH_, DEBUG), else 64, and what else it fills in is
// nothing.
std::string header_from_pattern(const std::string& pattern);

} // namespace lathe::refactor
