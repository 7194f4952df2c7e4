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

} // namespace lathe::refactor
