#include "refactor/app/launcher_search.h"

#include "tuner/base/files.h"

#include <algorithm>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

// Enough for a repository's kernels; a whole source tree of a framework is not read.
constexpr std::size_t MOST_FILES = 2000, MOST_FOUND = 3, MOST_ENTRIES = 50000;
// Folders above the kernel's own whose trees are searched: csrc/common/cuda/k.cuh is launched in
// csrc/pytorch/cuda/k.cu.
constexpr int FOLDERS_ABOVE = 3;
constexpr std::uintmax_t MOST_BYTES = 1 << 20;

bool may_launch(const fs::path& file) {
  static const std::vector<std::string> extensions{".cu", ".cuh", ".h", ".hpp", ".inl"};
  std::error_code failure;
  return std::ranges::find(extensions, file.extension().string()) != extensions.end() &&
         fs::is_regular_file(file, failure) && fs::file_size(file, failure) <= MOST_BYTES;
}

void add_tree(const fs::path& folder, std::vector<fs::path>& files) {
  std::error_code failure;
  const std::set<fs::path> known(files.begin(), files.end());
  std::vector<fs::path> found;
  std::size_t entries = 0;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, failure),
       end;
       !failure && at != end; at.increment(failure)) {
    if (at->path().filename().string().starts_with('.') || at.depth() > 2 * FOLDERS_ABOVE)
      at.disable_recursion_pending();
    if (may_launch(at->path()) && !known.contains(at->path()))
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

// Of `own`'s folder, then of the trees of the folders above it as far as its repository goes; the nearest
// first.
std::vector<fs::path> files_near(const fs::path& own) {
  fs::path folder = own.parent_path();
  std::vector<fs::path> files;
  add_tree(folder, files);
  for (int above = 0; above < FOLDERS_ABOVE && files.size() < MOST_FILES && !is_root_of_repository(folder) &&
                      folder.has_relative_path() && folder.parent_path().has_relative_path();
       ++above) {
    folder = folder.parent_path();
    add_tree(folder, files);
  }
  std::erase(files, own);
  return files;
}

} // namespace

std::vector<fs::path> including_files(const fs::path& source) {
  std::error_code failure;
  const fs::path own = fs::absolute(source, failure).lexically_normal();
  const std::string name = own.filename().string();
  std::vector<fs::path> found;
  for (const fs::path& file : files_near(own)) {
    if (found.size() == MOST_FOUND)
      break;
    const auto text = read_file(file);
    if (!text.ok())
      continue;
    for (std::size_t at = text->find(name); at != std::string::npos; at = text->find(name, at + 1)) {
      const std::size_t line = text->rfind('\n', at) + 1;
      const std::string before = text->substr(line, at - line);
      const bool is_name =
          !before.empty() && (before.back() == '/' || before.back() == '"' || before.back() == '<');
      if (is_name && before.find("#include") != std::string::npos && before.find("//") == std::string::npos) {
        found.push_back(file);
        break;
      }
    }
  }
  return found;
}

std::vector<fs::path> launching_files(const fs::path& source, const std::string& kernel) {
  std::error_code failure;
  const fs::path own = fs::absolute(source, failure).lexically_normal();
  // name<<<, name<float, 4><<<, and the launch functions that are handed the kernel.
  const std::regex launch("\\b" + kernel + R"(\s*(<[^;{}()]*>)?\s*<<<|cudaLaunch\w*Kernel\w*\s*\([^;]*\b)" +
                          kernel + "\\b");
  // Where there is none, files that name the kernel and launch something: through a pointer, a macro or a
  // wrapper.
  const std::regex mention("\\b" + kernel + "\\b");
  std::vector<fs::path> found, mentioning;
  for (const fs::path& file : files_near(own)) {
    if (found.size() == MOST_FOUND)
      break;
    const auto text = read_file(file);
    if (!text.ok() || text->find(kernel) == std::string::npos)
      continue;
    if (mentioning.size() < MOST_FOUND &&
        (text->find("<<<") != std::string::npos || text->find("cudaLaunch") != std::string::npos) &&
        std::regex_search(*text, mention))
      mentioning.push_back(file);
    // Only the surroundings of the name: std::regex recurses with the length of what it matches.
    for (std::size_t at = text->find(kernel); at != std::string::npos; at = text->find(kernel, at + 1)) {
      const std::size_t begin = at > 200 ? at - 200 : 0;
      if (std::regex_search(text->substr(begin, 200 + kernel.size() + 200), launch)) {
        found.push_back(file);
        break;
      }
    }
  }
  return found.empty() ? mentioning : found;
}

Result<std::vector<LaunchSite>> launches_in(const fs::path& file, const KernelInfo& kernel,
                                            const ParseOptions& options) {
  LATHE_TRY(const std::unique_ptr<ParsedSource> source, ParsedSource::parse(file, options));
  for (const KernelInfo& known : find_kernels(*source)) {
    if (known.qualified_name != kernel.qualified_name ||
        known.parameters.size() != kernel.parameters.size() || known.launches.empty())
      continue;
    std::vector<LaunchSite> launches = known.launches;
    for (LaunchSite& site : launches) {
      std::map<std::string, std::string> arguments;
      for (std::size_t i = 0; i < known.parameters.size(); ++i)
        if (const auto passed = site.arguments.find(known.parameters[i].name); passed != site.arguments.end())
          arguments[kernel.parameters[i].name] = passed->second;
      site.arguments = std::move(arguments);
    }
    return launches;
  }
  return Error{"cannot read launches of " + kernel.name + " in " + file.string(),
               "it launches no kernel of that name",
               "name the file that does with --launcher, or give the launch with --grid and --block"};
}

} // namespace lathe::refactor
