#include "refactor/frontend/stand_in_headers.h"

#include "tuner/base/files.h"

#include <fmt/format.h>

#include <deque>
#include <set>
#include <string_view>
#include <vector>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t MOST_FILES = 200; // that are read for one source

struct Named {
  std::string header;
  bool is_quoted = false;
};

std::vector<Named> included_by(std::string_view text) {
  std::vector<Named> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const auto skip = [&](std::string_view word) {
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      if (!line.starts_with(word))
        return false;
      line.remove_prefix(word.size());
      return true;
    };
    if (!skip("#") || !skip("include"))
      continue;
    const bool is_quoted = skip("\"");
    if (!is_quoted && !skip("<"))
      continue;
    const std::size_t close = line.find(is_quoted ? '"' : '>');
    if (close != std::string_view::npos && close > 0)
      found.push_back({std::string(line.substr(0, close)), is_quoted});
  }
  return found;
}

// The user's file that an inclusion means; empty where none of the user's folders has it.
fs::path file_of(const Named& named, const fs::path& from, const ClangCommand& command) {
  std::error_code failure;
  if (const fs::path beside = from.parent_path() / named.header;
      named.is_quoted && fs::is_regular_file(beside, failure))
    return beside.lexically_normal();
  for (const fs::path& folder : command.user_folders)
    if (const fs::path there = folder / named.header; fs::is_regular_file(there, failure))
      return there.lexically_normal();
  return {};
}

} // namespace

const char* stand_in_for(const std::string& header) {
  static const std::vector<std::pair<std::string, const char*>> beginnings{
      {"dlpack/", "lathe_tvm_ffi.h"},
      {"tvm/ffi/", "lathe_tvm_ffi.h"},
      {"ATen/", "lathe_torch.h"},
      {"c10/", "lathe_torch.h"},
      {"torch/", "lathe_torch.h"},
      {"THC/", "lathe_torch.h"},
      {"caffe2/", "lathe_torch.h"},
      {"glog/", "lathe_logging.h"},
      {"absl/log/", "lathe_logging.h"},
      {"butil/logging.h", "lathe_logging.h"},
      {"dmlc/logging.h", "lathe_logging.h"},
      {"omp.h", "lathe_openmp.h"},
      {"mpi.h", "lathe_mpi.h"}};
  for (const auto& [beginning, text] : beginnings)
    if (header.starts_with(beginning))
      return text;
  return nullptr;
}

std::pair<std::string, std::string> stand_in_file(const ClangCommand& command, const std::string& header,
                                                  const char* stand_in) {
  return {(command.stand_ins / "torch" / header).string(), fmt::format("#include \"{}\"\n", stand_in)};
}

std::map<std::string, std::string> named_stand_ins(const fs::path& file, const std::string& text,
                                                   const ClangCommand& command) {
  std::map<std::string, std::string> found;
  std::set<fs::path> seen{file};
  std::deque<std::pair<fs::path, std::string>> left{{file, text}};
  while (!left.empty() && seen.size() < MOST_FILES) {
    const auto [path, content] = std::move(left.front());
    left.pop_front();
    for (const Named& named : included_by(content)) {
      const fs::path own = file_of(named, path, command);
      if (own.empty()) {
        if (const char* stand_in = stand_in_for(named.header))
          found.insert(stand_in_file(command, named.header, stand_in));
      } else if (seen.insert(own).second) {
        if (auto read = read_file(own); read.ok())
          left.emplace_back(own, std::move(*read));
      }
    }
  }
  return found;
}

} // namespace lathe::refactor
