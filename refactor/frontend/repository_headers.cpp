#include "refactor/frontend/repository_headers.h"

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <sstream>
#include <string_view>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

constexpr int FOLDERS_ABOVE = 4; // where no repository is seen
constexpr std::size_t MOST_ENTRIES = 50000;

fs::path root_of(const fs::path& source) {
  std::error_code failure;
  fs::path folder = source.parent_path(), highest;
  for (int above = 0; folder.has_relative_path() && folder.parent_path().has_relative_path();
       folder = folder.parent_path(), ++above) {
    if (fs::exists(folder / ".git", failure))
      return folder;
    if (above <= FOLDERS_ABOVE)
      highest = folder;
  }
  return highest;
}

std::ptrdiff_t parts_in_common(const fs::path& a, const fs::path& b) {
  return std::distance(a.begin(), std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first);
}

// The folder that `header` is included from where it is this file; empty where it is another.
fs::path including_folder(const fs::path& file, const fs::path& header) {
  fs::path folder = file;
  std::vector<fs::path> parts(header.begin(), header.end());
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (folder.filename() != *part)
      return {};
    folder = folder.parent_path();
  }
  return folder;
}

// Of headers for several kinds of compilers (syntax/acc, syntax/cu) those for CUDA.
bool is_for_devices(const fs::path& folder) {
  constexpr std::array<std::string_view, 3> NAMES{"cu", "cuda", "gpu"};
  return std::ranges::any_of(
      folder, [&](const fs::path& part) { return std::ranges::find(NAMES, part.string()) != NAMES.end(); });
}

// The folder for each of the headers that are there.
std::map<fs::path, fs::path> found_headers(const fs::path& source, const std::vector<std::string>& missing) {
  std::multimap<std::string, fs::path> wanted; // by file name
  for (const std::string& header : missing) {
    const fs::path path = fs::path(header).lexically_normal();
    if (path.has_extension() && !path.is_absolute() && !path.string().starts_with(".."))
      wanted.emplace(path.filename().string(), path);
  }
  const fs::path root = root_of(source);
  if (wanted.empty() || root.empty())
    return {};
  std::map<fs::path, fs::path> found; // by header
  std::error_code failure;
  std::size_t entries = 0;
  for (fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, failure), end;
       !failure && at != end && entries < MOST_ENTRIES; at.increment(failure), ++entries) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.'))
      at.disable_recursion_pending();
    for (auto [one, last] = wanted.equal_range(name); one != last; ++one) {
      const fs::path folder = including_folder(at->path(), one->second);
      if (folder.empty() || !at->is_regular_file(failure))
        continue;
      const auto is_nearer = [&](const fs::path& before) {
        const auto own = parts_in_common(folder, source), others = parts_in_common(before, source);
        if (own != others || is_for_devices(folder) != is_for_devices(before))
          return own > others || (own == others && is_for_devices(folder));
        return folder < before; // whatever the order of the entries
      };
      if (const auto [place, is_first] = found.emplace(one->second, folder);
          !is_first && is_nearer(place->second))
        place->second = folder;
    }
  }
  return found;
}

} // namespace

std::vector<fs::path> folders_of_headers(const fs::path& source, const std::vector<std::string>& missing) {
  std::vector<fs::path> folders;
  for (const auto& [header, folder] : found_headers(source, missing))
    if (std::ranges::find(folders, folder) == folders.end())
      folders.push_back(folder);
  return folders;
}

std::vector<HeaderPattern> patterns_of_headers(const fs::path& source,
                                               const std::vector<std::string>& missing) {
  constexpr std::array ENDINGS{".in", ".cmake", ".cmakein", ".cmake.in"};
  std::vector<std::string> names;
  for (const std::string& header : missing)
    for (const char* ending : ENDINGS)
      names.push_back(header + ending);
  std::vector<HeaderPattern> patterns;
  for (const auto& [name, folder] : found_headers(source, names)) {
    const auto header = std::ranges::find_if(
        missing, [&, path = name.string()](const std::string& one) { return path.starts_with(one + "."); });
    if (header != missing.end() &&
        std::ranges::find(patterns, *header, &HeaderPattern::header) == patterns.end())
      patterns.push_back({*header, folder, folder / name});
  }
  return patterns;
}

std::string header_from_pattern(const std::string& pattern) {
  static const std::regex switched(R"(^(\s*#\s*)cmakedefine(01)?\s+(\w+).*)"),
      filled(R"(^\s*#\s*define\s+(\w+)\s+(@\w+@|\$\{\w+\})\s*$)"), variable(R"(@\w+@|\$\{\w+\})"),
      of_switch("^(USE|WITH|HAVE|ENABLE|NO)_|DEBUG|VERBOSE");
  std::istringstream lines(pattern);
  std::string text;
  for (std::string line; std::getline(lines, line); text += '\n') {
    if (line.ends_with('\r'))
      line.pop_back();
    std::smatch match;
    if (std::regex_match(line, match, switched))
      text += match[2].matched ? match[1].str() + "define " + match[3].str() + " 0"
                               : "/* #undef " + match[3].str() + " */";
    else if (std::regex_match(line, match, filled))
      text += "#define " + match[1].str() + (std::regex_search(match[1].str(), of_switch) ? " 0" : " 64");
    else
      text += std::regex_replace(line, variable, "");
  }
  return text;
}

} // namespace lathe::refactor
