#include "refactor/frontend/precompiled.h"

#include "tuner/base/files.h"
#include "tuner/compile/compile.h"

#include <clang/Basic/Diagnostic.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/Utils.h>

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

bool write_precompiled(const std::vector<std::string>& command, const fs::path& header,
                       const fs::path& output) {
  clang::IgnoringDiagConsumer silent;
  const auto diagnostics = clang::CompilerInstance::createDiagnostics(new clang::DiagnosticOptions, &silent,
                                                                      /*ShouldOwnClient=*/false);
  std::vector<const char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(argument.c_str());
  const std::string name = header.string();
  for (const char* argument : {"-O2", "-w", "-fsyntax-only"})
    arguments.push_back(argument);
  arguments.push_back(name.c_str());
  clang::CreateInvocationOptions how;
  how.Diags = diagnostics;
  std::shared_ptr<clang::CompilerInvocation> invocation = clang::createInvocation(arguments, how);
  if (!invocation)
    return false;
  invocation->getFrontendOpts().OutputFile = output.string();
  invocation->getFrontendOpts().ProgramAction = clang::frontend::GeneratePCH;
  invocation->getFrontendOpts().DisableFree = false;
  clang::CompilerInstance compiler;
  compiler.setInvocation(std::move(invocation));
  compiler.createDiagnostics(&silent, /*ShouldOwnClient=*/false);
  clang::GeneratePCHAction action;
  std::error_code failure;
  return compiler.ExecuteAction(action) && fs::exists(output, failure);
}

// By what decides their contents; a file is made when the same headers are wanted again.
class PrecompiledHeaders {
public:
  std::optional<fs::path> find(const std::vector<std::string>& command, const std::string& includes) {
    std::string key = includes;
    for (const std::string& word : command)
      if (!word.starts_with("-idirafter")) // behind the folders of the headers in question
        key += '\n' + word;
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[key];
    if (++entry.uses < 2)
      return std::nullopt;
    if (entry.uses == 2)
      entry.file = make(command, includes);
    return entry.file;
  }

private:
  struct Entry {
    int uses = 0;
    std::optional<fs::path> file;
  };

  std::optional<fs::path> make(const std::vector<std::string>& command, const std::string& includes) {
    if (!folder_) {
      auto created = TemporaryFolder::create("headers");
      if (!created)
        return std::nullopt;
      folder_.emplace(std::move(*created));
    }
    const std::string name = std::to_string(made_++);
    const fs::path header = folder_->path() / (name + ".cuh"), output = folder_->path() / (name + ".pch");
    if (!write_file(header, includes + "\n").ok() || !write_precompiled(command, header, output))
      return std::nullopt;
    return output;
  }

  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  int made_ = 0; // files, which others may be reading
  std::optional<TemporaryFolder> folder_;
};

} // namespace

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
  const auto file = known.find(command, leading_includes(text));
  if (!file)
    return command;
  std::vector<std::string> quick(command.begin(), forced - 1);
  quick.insert(quick.end(), {"-include-pch", file->string()});
  quick.insert(quick.end(), forced + 1, command.end());
  return quick;
}

} // namespace lathe::refactor
