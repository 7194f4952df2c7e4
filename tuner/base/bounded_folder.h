// Folders of files that can be made again, kept below a size.
#pragma once

#include <cstdint>
#include <filesystem>

namespace lathe {

// Says that a file was used now: it goes later. Nothing happens where it is gone or may not be touched.
void mark_used(const std::filesystem::path& file);

// Where the files of the folder and those below it have more bytes than `limit`, removes those that were used
// least recently until three quarters of it are left. Other processes may use and remove files meanwhile;
// what cannot be removed stays.
void keep_below(const std::filesystem::path& folder, std::uint64_t limit);

} // namespace lathe
