// The files of a repository around one of its files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::refactor {

// Files of these kinds, extensions (".cu") or what names begin with ("Makefile"), of the named file's folder,
// then of the trees of a few folders above it as far as its repository goes, or up to one that anybody may
// write to (/tmp); the nearest first, without the file itself. Very large files, and those beyond some
// thousands, are left out.
std::vector<std::filesystem::path> files_near(const std::filesystem::path& named,
                                              const std::vector<std::string>& kinds);

} // namespace lathe::refactor
