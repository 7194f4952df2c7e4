// Reading and writing whole files.
#pragma once

#include "tuner/base/result.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace lathe {

// The whole content of a regular file. The error names the path and the system's reason, or what else is
// there: a named pipe is not waited for, and a device not read.
Result<std::string> read_file(const std::filesystem::path& path);

// Whether something is there. What cannot be looked at, such as a name that is too long, is not.
bool path_exists(const std::filesystem::path& path);

// Writes `content` beside `path` and renames it into place, so that a reader sees the old file or the new one
// and a full disk loses neither. Creates missing parent folders.
Status write_file(const std::filesystem::path& path, std::string_view content);

// A folder that is removed with everything in it when the object dies; where the process is killed, when the
// next one makes its first.
class TemporaryFolder {
public:
  // Under TMPDIR (or /tmp), named `lathe-<purpose>-XXXXXX`. It holds a file named `.lock`.
  static Result<TemporaryFolder> create(std::string_view purpose);
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

private:
  TemporaryFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::filesystem::path path_;
  int lock_ = -1; // descriptor that holds the lock of `.lock`
};

// Where the running executable's shipped files are (`../share/lathe` beside its folder, in an installation, a
// bundle and a build folder alike; LATHE_SHARE overrides it). `relative` is a path inside it, such as
// "host_executor/cuda_host.h".
Result<std::filesystem::path> shipped_file(const std::filesystem::path& relative);

} // namespace lathe
