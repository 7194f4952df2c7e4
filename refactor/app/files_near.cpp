#include "refactor/app/files_near.h"

#include <algorithm>
#include <set>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

// Enough for a repository's kernels; a whole source tree of a framework is not read.
constexpr std::size_t MOST_FILES = 2000, MOST_ENTRIES = 50000;
// Folders above the kernel's own whose trees are searched: csrc/common/cuda/k.cuh is launched in
// csrc/pytorch/cuda/k.cu.
constexpr int FOLDERS_ABOVE = 3;
constexpr std::uintmax_t MOST_BYTES = 1 << 20;

bool is_one_of(const fs::path& file, const std::vector<std::string>& kinds) {
  std::error_code failure;
  const std::string name = file.filename().string(), extension = file.extension().string();
  return std::ranges::any_of(kinds,
                             [&](const std::string& kind) {
                               return kind.starts_with('.') ? extension == kind : name.starts_with(kind);
                             }) &&
         fs::is_regular_file(file, failure) && fs::file_size(file, failure) <= MOST_BYTES;
}

void add_tree(const fs::path& folder, const std::vector<std::string>& kinds, std::vector<fs::path>& files) {
  std::error_code failure;
  const std::set<fs::path> known(files.begin(), files.end());
  std::vector<fs::path> found;
  std::size_t entries = 0;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, failure),
       end;
       !failure && at != end; at.increment(failure)) {
    if (at->path().filename().string().starts_with('.') || at.depth() > 2 * FOLDERS_ABOVE)
      at.disable_recursion_pending();
    if (is_one_of(at->path(), kinds) && !known.contains(at->path()))
      found.push_back(at->path());
    if (++entries > MOST_ENTRIES || files.size() + found.size() >= MOST_FILES)
      break;
  }
  std::ranges::sort(found);
  files.insert(files.end(), found.begin(), found.end());
}

bool is_root_of_repository(const fs::path& folder) {
  std::error_code failure;
  return fs::exists(folder / ".git", failure);
}

// Such as /tmp: what else lies there may be anybody's.
bool is_everybodys(const fs::path& folder) {
  std::error_code failure;
  const fs::perms allowed = fs::status(folder, failure).permissions();
  return !failure && (allowed & fs::perms::others_write) != fs::perms::none;
}

} // namespace

std::vector<fs::path> files_near(const fs::path& named, const std::vector<std::string>& kinds) {
  std::error_code failure;
  const fs::path own = fs::absolute(named, failure).lexically_normal();
  fs::path folder = own.parent_path();
  std::vector<fs::path> files;
  add_tree(folder, kinds, files);
  for (int above = 0; above < FOLDERS_ABOVE && files.size() < MOST_FILES && !is_root_of_repository(folder) &&
                      folder.has_relative_path() && folder.parent_path().has_relative_path() &&
                      !is_everybodys(folder.parent_path());
       ++above) {
    folder = folder.parent_path();
    add_tree(folder, kinds, files);
  }
  std::erase(files, own);
  return files;
}

} // namespace lathe::refactor
