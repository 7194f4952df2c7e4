// Launches of a kernel that other files than its own hold.
#pragma once

#include "refactor/frontend/frontend.h"

namespace lathe::refactor {

// Files beside `source`, and in the folders of the folder above it, whose text launches the kernel by name;
// the nearest first, at most a few. Read as text: whether they parse is not known yet.
std::vector<std::filesystem::path> launching_files(const std::filesystem::path& source,
                                                   const std::string& kernel);

// The kernel's launches as `file` has them, the arguments named after the kernel's own parameters. Fails
// where the file does not parse or launches no kernel of that qualified name.
Result<std::vector<LaunchSite>> launches_in(const std::filesystem::path& file, const KernelInfo& kernel,
                                            const ParseOptions& options);

} // namespace lathe::refactor
