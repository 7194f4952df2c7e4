#include "tuner/base/files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace lathe {
namespace {

namespace fs = std::filesystem;

Error system_error(const char* verb, const fs::path& path, int code, std::string remedy = {}) {
  return {std::string("cannot ") + verb + " " + path.string(), std::strerror(code), std::move(remedy)};
}

// Of what is no regular file.
const char* kind_of(mode_t mode) {
  return S_ISDIR(mode)    ? "a directory"
         : S_ISFIFO(mode) ? "a named pipe"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

Status write_all(int descriptor, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return system_error("write", path, errno, errno == ENOSPC ? "free some space and run again" : "");
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS)
    return system_error("write", path, errno);
  return Done{};
}

} // namespace

Result<std::string> read_file(const fs::path& path) {
  // A named pipe that nobody writes to is opened at once, and not waited for.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return system_error("read", path, errno);
  struct stat info{};
  if (::fstat(descriptor, &info) == 0 && !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return Error{"cannot read " + path.string(), "it is " + std::string(kind_of(info.st_mode)),
                 "give a regular file"};
  }
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count == 0)
      break;
    if (count < 0) {
      if (errno == EINTR)
        continue;
      const int code = errno;
      ::close(descriptor);
      return system_error("read", path, code);
    }
    content.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(descriptor);
  return content;
}

bool path_exists(const std::filesystem::path& path) {
  std::error_code failure;
  return std::filesystem::exists(path, failure);
}

Status write_file(const fs::path& path, std::string_view content) {
  std::error_code failure;
  if (path.has_parent_path()) {
    fs::create_directories(path.parent_path(), failure);
    if (failure)
      return Error{"cannot create folder " + path.parent_path().string(), failure.message(), ""};
  }
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = ::mkstemp(temporary.data());
  if (descriptor < 0)
    return system_error("write", path, errno);
  ::fchmod(descriptor, 0644);
  Status written = write_all(descriptor, content, path);
  if (::close(descriptor) != 0 && written.ok())
    written = system_error("write", path, errno);
  if (written.ok() && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = system_error("write", path, errno);
  if (!written.ok())
    ::unlink(temporary.c_str());
  return written;
}

Result<fs::path> shipped_file(const fs::path& relative) {
  std::vector<fs::path> roots;
  if (const char* share = std::getenv("LATHE_SHARE"); share && *share)
    roots.emplace_back(share);
  std::error_code failure;
  const fs::path executable = fs::read_symlink("/proc/self/exe", failure);
  if (!failure) {
    const fs::path folder = executable.parent_path();
    roots.push_back(folder / "../share/lathe"); // the same in an installation, a bundle and a build folder
  }
  for (const fs::path& root : roots) {
    const fs::path candidate = root / relative;
    if (fs::exists(candidate, failure))
      return fs::weakly_canonical(candidate, failure);
  }
  return Error{"cannot find Lathe's own file " + relative.string(),
               "it is neither beside the executable nor under LATHE_SHARE",
               "install Lathe again or set LATHE_SHARE to its share/lathe folder"};
}

} // namespace lathe
