// What other files than a kernel's own hold of it: its launches, and what its text needs before it.
#pragma once

#include "refactor/frontend/frontend.h"

#include <filesystem>
#include <optional>

namespace lathe::refactor {

// Files near `source`, in its folder and in the trees of a few folders above it within its repository, whose
// text launches the kernel by name, the nearest first; where there is none, those that name it and launch
// something, maybe through a macro or a pointer. At most a few. Read as text: whether they parse is not known
// yet.
std::vector<std::filesystem::path> launching_files(const std::filesystem::path& source,
                                                   const std::string& kernel);

// The file of the same places whose text defines a kernel that `source` only declares; nothing where there is
// none.
std::optional<std::filesystem::path> defining_file(const std::filesystem::path& source,
                                                   const std::string& kernel);

// Files of the same places whose text includes `source`; the nearest first, at most a few.
std::vector<std::filesystem::path> including_files(const std::filesystem::path& source);

// Files of the same places whose text calls a function of `source` that names the kernel: a helper that
// launches what it is handed. The nearest first, at most a few; they may include `source` through others.
std::vector<std::filesystem::path> calling_files(const std::filesystem::path& source,
                                                 const std::string& kernel);

// Reads the launches of `kernel`, which `source` declares, again where what they need stands in other files:
// functions that compute the grid or a size of it, and callers that hand the launcher its grid. What was read
// where goes to `notes`. Launches stay as they are where that makes none of them readable.
void complete_launches(ParsedSource& source, const KernelInfo& kernel, const ParseOptions& options,
                       std::vector<LaunchSite>& launches, std::vector<std::string>& notes);

// The kernel's launches as `file` has them, the arguments named after the kernel's own parameters. Fails
// where the file does not parse or launches no kernel of that qualified name.
Result<std::vector<LaunchSite>> launches_in(const std::filesystem::path& file, const KernelInfo& kernel,
                                            const ParseOptions& options, std::vector<std::string>& notes);

// The kernel's launches in a file near `source` that is not told the kernel, but is handed its address by a
// function of `source`: read with `source` in front of it, as one program. Fails where there is none.
Result<std::vector<LaunchSite>> launches_by_address(const std::filesystem::path& source,
                                                    const KernelInfo& kernel, const ParseOptions& options,
                                                    std::vector<std::string>& notes);

} // namespace lathe::refactor
