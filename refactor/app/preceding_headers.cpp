#include "refactor/app/preceding_headers.h"

#include "tuner/base/files.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> include_folders(const std::vector<std::string>& flags) {
  std::vector<fs::path> folders;
  for (std::size_t i = 0; i < flags.size(); ++i)
    for (const std::string option : {"-I", "-isystem", "-iquote"}) {
      if (!flags[i].starts_with(option))
        continue;
      if (flags[i].size() > option.size())
        folders.emplace_back(flags[i].substr(option.size()));
      else if (i + 1 < flags.size())
        folders.emplace_back(flags[i + 1]);
    }
  return folders;
}

} // namespace

std::vector<std::string> headers_as_flags(const fs::path& file, const std::vector<std::string>& flags) {
  const auto text = read_file(file);
  if (!text.ok())
    return {};
  std::vector<fs::path> folders = include_folders(flags);
  folders.insert(folders.begin(), file.parent_path());
  static const std::regex inclusion(R"re(^\s*#\s*include\s*"([^"]+)")re");
  std::vector<std::string> options;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, inclusion))
      continue;
    const std::string name = match[1];
    const auto folder = std::ranges::find_if(folders, [&](const fs::path& each) {
      std::error_code failure;
      return fs::is_regular_file(each / name, failure);
    });
    if (folder == folders.end())
      continue;
    options.emplace_back("-include");
    options.push_back((*folder / name).lexically_normal().string());
  }
  return options;
}

} // namespace lathe::refactor
