// Temporary folders, and what killed processes left of theirs.
#include "tuner/base/files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <unistd.h>

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr const char* PREFIX = "lathe-";
// Held by the owner for as long as it lives, however it ends: whoever can take it has found what is left.
constexpr const char* LOCK = ".lock";

// A descriptor that holds the lock of a folder; -1 where there is none to be had.
int lock_new(const fs::path& folder) {
  // Locked before it has the name under which others look for it.
  const fs::path unnamed = folder / ".new-lock";
  const int descriptor = ::open(unnamed.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return -1;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 ||
      ::rename(unnamed.c_str(), (folder / LOCK).c_str()) != 0) {
    ::close(descriptor);
    return -1;
  }
  return descriptor;
}

// Removes folders of this user whose owners were killed.
void remove_abandoned(const fs::path& base) {
  std::error_code failure;
  for (fs::directory_iterator entry(base, failure), end; !failure && entry != end; entry.increment(failure)) {
    const fs::path& folder = entry->path();
    if (!folder.filename().string().starts_with(PREFIX))
      continue;
    const int descriptor = ::open((folder / LOCK).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) // no such folder, another user's, or without a lock
      continue;
    std::error_code ignored; // another process may remove it, too
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      fs::remove_all(folder, ignored);
    ::close(descriptor);
  }
}

} // namespace

Result<TemporaryFolder> TemporaryFolder::create(std::string_view purpose) {
  const char* set = std::getenv("TMPDIR");
  const std::string base = set && *set ? set : "/tmp";
  static std::once_flag swept;
  std::call_once(swept, [&] { remove_abandoned(base); });
  std::string pattern = base + "/" + PREFIX + std::string(purpose) + "-XXXXXX";
  if (!::mkdtemp(pattern.data()))
    return Error{"cannot create temporary folder " + pattern, std::strerror(errno),
                 "set TMPDIR to a folder with free space"};
  const int lock = lock_new(pattern);
  return TemporaryFolder(fs::path(pattern), lock);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(other.lock_) {
  other.path_.clear();
  other.lock_ = -1;
}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty())
    return;
  std::error_code ignored; // a folder that cannot be removed is left to the system's cleaner
  fs::remove_all(path_, ignored);
  if (lock_ >= 0)
    ::close(lock_);
}

} // namespace lathe
