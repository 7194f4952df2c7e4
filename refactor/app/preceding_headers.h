// Headers that a build puts before a source by an option of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::refactor {

// The headers that the text of `file` includes in quotes, as options that put them before another source
// ("-include", "folder/types.h"): those that lie beside the file or in an include folder of `flags`, in their
// order. Conditions around them are not looked at.
std::vector<std::string> headers_as_flags(const std::filesystem::path& file,
                                          const std::vector<std::string>& flags);

} // namespace lathe::refactor
