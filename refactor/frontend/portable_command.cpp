#include "refactor/frontend/frontend.h"

#include <array>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

// The path as seen from the folder, or nothing where it lies outside.
std::string below(const fs::path& folder, const std::string& path) {
  const fs::path relative = fs::path(path).lexically_relative(folder);
  return relative.empty() || *relative.begin() == ".." ? std::string() : relative.string();
}

} // namespace

std::vector<std::string> portable_command(const std::vector<std::string>& command, const fs::path& folder) {
  constexpr std::array with_path{"-isystem", "-idirafter", "-iquote", "-include", "-I"};
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (i == 0) {
      kept.push_back(fs::path(word).filename().string());
      continue;
    }
    if (word.starts_with("-resource-dir") || word.starts_with("--cuda-path"))
      continue; // the compiler's own
    const char* option = nullptr;
    for (const char* candidate : with_path)
      if (option == nullptr && word.starts_with(candidate))
        option = candidate;
    if (option == nullptr) {
      kept.push_back(word);
      continue;
    }
    std::string path = word.substr(std::string_view(option).size());
    if (path.empty() && i + 1 < command.size())
      path = command[++i];
    if (fs::path(path).is_absolute())
      path = below(folder, path);
    if (!path.empty())
      kept.insert(kept.end(), {option, path});
  }
  return kept;
}

} // namespace lathe::refactor
