#include "refactor/frontend/precompiled_store.h"

#include "tuner/base/files.h"
#include "tuner/base/hash.h"

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/Version.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/Utils.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

// Of the list of inputs: another one belongs to another Lathe.
constexpr std::string_view FORMAT = "lathe precompiled header 1";

// "SIZE TIME PATH", by which a file is seen to have changed; empty where there is none.
std::string stamp(const fs::path& path) {
  std::error_code failure;
  const auto size = fs::file_size(path, failure);
  if (failure)
    return {};
  const auto time = fs::last_write_time(path, failure);
  return failure ? std::string()
                 : fmt::format("{} {} {}", size, time.time_since_epoch().count(), path.string());
}

// Whether the file is as the line has it.
bool is_unchanged(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  return second != std::string_view::npos && stamp(fs::path(line.substr(second + 1))) == line;
}

class AllInputs final : public clang::DependencyCollector {
public:
  bool needSystemDependencies() override { return true; }
};

// What it is or lies in right below the longest of the folders.
std::string beginning_of(const std::string& path, const std::vector<std::string>& folders) {
  std::size_t behind = 0;
  for (const std::string& folder : folders)
    if (folder.size() > behind && path.starts_with(folder))
      behind = folder.size();
  return behind == 0 ? std::string() : path.substr(0, path.find('/', behind));
}

// The inputs of a header, and PrecompiledHeader's beginnings.
struct Written {
  std::vector<std::string> inputs;
  std::set<std::string> beginnings;
};

// Writes to `output`; nothing where Clang rejects the headers.
std::optional<Written> write_precompiled(const std::vector<std::string>& command, const fs::path& header,
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
    return std::nullopt;
  invocation->getFrontendOpts().OutputFile = output.string();
  invocation->getFrontendOpts().ProgramAction = clang::frontend::GeneratePCH;
  invocation->getFrontendOpts().DisableFree = false;
  std::vector<std::string> folders;
  for (const auto& entry : invocation->getHeaderSearchOpts().UserEntries)
    folders.push_back((fs::path(entry.Path) / "").lexically_normal().string());
  clang::CompilerInstance compiler;
  compiler.setInvocation(std::move(invocation));
  compiler.createDiagnostics(&silent, /*ShouldOwnClient=*/false);
  const auto inputs = std::make_shared<AllInputs>();
  compiler.addDependencyCollector(inputs);
  clang::GeneratePCHAction action;
  std::error_code failure;
  if (!compiler.ExecuteAction(action) || !fs::exists(output, failure))
    return std::nullopt;
  Written written;
  for (const std::string& input : inputs->getDependencies()) {
    if (fs::path(input) == header)
      continue;
    const std::string normal = fs::path(input).lexically_normal().string();
    written.inputs.push_back(normal);
    if (std::string beginning = beginning_of(normal, folders); !beginning.empty())
      written.beginnings.insert(std::move(beginning));
  }
  return written;
}

} // namespace

PrecompiledStore::PrecompiledStore(fs::path folder, std::uint64_t limit)
    : folder_(std::move(folder)), limit_(limit) {
  std::error_code failure;
  if (!folder_.empty())
    fs::create_directories(folder_, failure);
  if (failure)
    folder_.clear();
}

std::optional<PrecompiledHeader> PrecompiledStore::get(const std::vector<std::string>& command,
                                                       const std::string& includes) {
  if (folder_.empty())
    return std::nullopt;
  std::string key = fmt::format("{}\n{}\n{}", FORMAT, CLANG_VERSION_STRING, includes);
  for (const std::string& word : command)
    key += '\n' + word;
  const std::string name = content_hash(key);
  auto found = find(name);
  return found ? found : make(name, command, includes);
}

// A list has a line for the format, then stamps of the header itself and its inputs, which begin with a size,
// and the beginnings, which begin with a slash.
std::optional<PrecompiledHeader> PrecompiledStore::find(const std::string& name) const {
  const fs::path list = folder_ / (name + ".inputs");
  const auto text = read_file(list);
  if (!text.ok())
    return std::nullopt;
  PrecompiledHeader header{folder_ / (name + ".pch"), {}};
  std::istringstream lines(*text);
  std::string line;
  if (!std::getline(lines, line) || line != FORMAT)
    return std::nullopt;
  bool has_stamps = false;
  while (std::getline(lines, line)) {
    if (line.starts_with('/')) {
      header.beginnings.emplace_back(line);
      continue;
    }
    if (!is_unchanged(line))
      return std::nullopt;
    has_stamps = true;
  }
  if (!has_stamps)
    return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(list, fs::file_time_type::clock::now(), ignored); // when it was last used
  return header;
}

std::optional<PrecompiledHeader> PrecompiledStore::make(const std::string& name,
                                                        const std::vector<std::string>& command,
                                                        const std::string& includes) {
  const fs::path text = folder_ / (name + ".cuh"), file = folder_ / (name + ".pch");
  const fs::path partial = folder_ / fmt::format("{}.{}.partial", name, getpid());
  std::error_code failure;
  // Its text has its name and time in it, and stays as it is where another process wrote it.
  const auto known = read_file(text);
  if ((!known.ok() || *known != includes) && !write_file(text, includes).ok())
    return std::nullopt;
  const auto written = write_precompiled(command, text, partial);
  if (written)
    fs::rename(partial, file, failure);
  if (!written || failure) {
    fs::remove(partial, failure);
    return std::nullopt;
  }
  std::string list = fmt::format("{}\n{}\n", FORMAT, stamp(file));
  for (const std::string& input : written->inputs)
    list += stamp(input) + '\n';
  for (const std::string& beginning : written->beginnings)
    list += beginning + '\n';
  if (!write_file(folder_ / (name + ".inputs"), list).ok())
    return std::nullopt;
  shrink(file);
  return PrecompiledHeader{file, {written->beginnings.begin(), written->beginnings.end()}};
}

void PrecompiledStore::shrink(const fs::path& kept) const {
  struct Kept {
    fs::file_time_type used;
    fs::path file;
    std::uint64_t bytes;
  };
  std::vector<Kept> all;
  std::uint64_t bytes = 0;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder_, failure)) {
    if (entry.path().extension() != ".pch")
      continue;
    const std::uint64_t size = entry.file_size(failure);
    if (failure)
      continue;
    const auto used = fs::last_write_time(fs::path(entry.path()).replace_extension(".inputs"), failure);
    all.push_back({failure ? fs::file_time_type::min() : used, entry.path(), size});
    bytes += size;
  }
  std::ranges::sort(all, {}, &Kept::used);
  for (const Kept& old : all) {
    if (bytes <= limit_)
      return;
    if (old.file == kept)
      continue;
    for (const char* extension : {".inputs", ".pch", ".cuh"})
      fs::remove(fs::path(old.file).replace_extension(extension), failure);
    bytes -= old.bytes;
  }
}

} // namespace lathe::refactor
