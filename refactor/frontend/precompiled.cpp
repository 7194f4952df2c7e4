#include "refactor/frontend/precompiled.h"

#include "refactor/frontend/precompiled_store.h"
#include "tuner/base/files.h"
#include "tuner/compile/cache.h"
#include "tuner/compile/compile.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view FORCED = "lathe_clang_cuda.h";

// One that means the same to every text: the toolkit's own or the language's.
bool is_common(const std::string& header) {
  static const std::vector<std::string> folders = [] {
    const auto toolkit = find_cuda_toolkit();
    std::vector<std::string> found;
    if (toolkit)
      for (const fs::path& folder : toolkit->includes)
        found.push_back(folder.string());
    return found;
  }();
  constexpr std::array c_headers{"stdint.h", "stddef.h", "math.h", "float.h", "limits.h", "assert.h"};
  if (header.find('.') == std::string::npos && header.find('/') == std::string::npos)
    return true; // <cstdint>
  if (std::find(c_headers.begin(), c_headers.end(), header) != c_headers.end())
    return true;
  std::error_code failure;
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return fs::exists(fs::path(folder) / header, failure);
  });
}

// The #include lines in front of everything else but comments.
std::string leading_includes(const std::string& text) {
  std::istringstream lines(text);
  std::string found;
  bool in_comment = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    const std::string_view rest =
        first == std::string::npos ? std::string_view() : std::string_view(line).substr(first);
    if (in_comment) {
      const std::size_t end = rest.find("*/");
      if (end == std::string_view::npos)
        continue;
      if (rest.find_first_not_of(" \t\r", end + 2) != std::string_view::npos)
        break;
      in_comment = false;
      continue;
    }
    if (rest.empty() || rest.starts_with("//") || rest.starts_with("#pragma once"))
      continue;
    if (rest.starts_with("/*") && rest.find("*/") == std::string_view::npos) {
      in_comment = true;
      continue;
    }
    const std::size_t open = rest.find('<'), close = rest.find('>');
    if (!rest.starts_with("#include") || open == std::string_view::npos || close == std::string_view::npos ||
        !is_common(std::string(rest.substr(open + 1, close - open - 1))))
      break;
    found += "#include <" + std::string(rest.substr(open + 1, close - open - 1)) + ">\n";
  }
  return found;
}

// Where headers are looked for. Those of the list are found behind Lathe's folders, as far as none of the
// user's has one of that name; those that are searched last lie behind both.
constexpr std::string_view LAST = "-idirafter";
constexpr std::array<std::string_view, 4> FOLDER_OPTIONS{"-I", "-iquote", "-isystem", LAST};

// The command without the folders behind its `forced` header, and these folders.
struct SplitCommand {
  std::vector<std::string> words;
  std::vector<fs::path> folders;
};

SplitCommand without_folders(const std::vector<std::string>& command, std::size_t forced) {
  SplitCommand split;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    const auto option = std::find_if(FOLDER_OPTIONS.begin(), FOLDER_OPTIONS.end(),
                                     [&](std::string_view name) { return word.starts_with(name); });
    if (i <= forced || option == FOLDER_OPTIONS.end()) {
      split.words.push_back(word);
      continue;
    }
    const bool apart = word == *option && i + 1 < command.size();
    const std::string folder = apart ? command[++i] : word.substr(option->size());
    if (*option != LAST)
      split.folders.emplace_back(folder);
  }
  return split;
}

// Found or made once a process.
class PrecompiledHeaders {
public:
  PrecompiledHeaders() {
    constexpr std::uint64_t LIMIT = 1u << 30;
    fs::path folder = CubinCache::default_folder();
    if (folder.empty())
      if (auto created = TemporaryFolder::create("headers"); created.ok()) {
        temporary_.emplace(std::move(*created));
        folder = temporary_->path();
      }
    store_.emplace(folder.empty() ? folder : folder / "headers", LIMIT);
  }

  std::optional<fs::path> find(const SplitCommand& command, const std::string& includes) {
    std::string key = includes;
    for (const std::string& word : command.words)
      key += '\n' + word;
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = entries_.try_emplace(key);
    if (is_new)
      entry->second = store_->get(command.words, includes);
    if (!entry->second || has_other_headers(command.folders, entry->second->beginnings))
      return std::nullopt;
    return entry->second->file;
  }

private:
  static bool has_other_headers(const std::vector<fs::path>& folders,
                                const std::vector<fs::path>& beginnings) {
    const auto is_other = [](const fs::path& there, const fs::path& beginning) {
      std::error_code failure;
      return fs::exists(there, failure) && !fs::equivalent(there, beginning, failure);
    };
    return std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) {
      return std::any_of(beginnings.begin(), beginnings.end(), [&](const fs::path& beginning) {
        return is_other(folder / beginning.filename(), beginning);
      });
    });
  }

  std::mutex mutex_;
  std::map<std::string, std::optional<PrecompiledHeader>> entries_;
  std::optional<TemporaryFolder> temporary_;
  std::optional<PrecompiledStore> store_;
};

} // namespace

bool blames_precompiled_headers(const std::string& message) {
  return message.find("PCH file") != std::string::npos || message.find("precompiled") != std::string::npos;
}

std::vector<std::string> with_precompiled_headers(const std::vector<std::string>& command,
                                                  const std::string& text) {
  // Behind precompiled headers in C++20, Clang 19 can crash at a delete-expression.
  if (std::find(command.begin(), command.end(), "-std=c++20") != command.end())
    return command;
  static PrecompiledHeaders known;
  const auto forced = std::find_if(command.begin(), command.end(), [](const std::string& word) {
    return fs::path(word).filename() == FORCED;
  });
  // A header forced by the user comes behind Lathe's and must stay there.
  const auto forcing = std::count(command.begin(), command.end(), "-include");
  if (forced == command.end() || forced == command.begin() || forcing != 1)
    return command;
  const auto file = known.find(without_folders(command, static_cast<std::size_t>(forced - command.begin())),
                               leading_includes(text));
  if (!file)
    return command;
  std::vector<std::string> quick(command.begin(), forced - 1);
  quick.insert(quick.end(), {"-include-pch", file->string()});
  quick.insert(quick.end(), forced + 1, command.end());
  return quick;
}

} // namespace lathe::refactor
