#include "tuner/compile/header_reuse.h"

#include "tuner/base/hash.h"

#include <fcntl.h>
#include <unistd.h>

namespace lathe {
namespace {

namespace fs = std::filesystem;

// Headers in folders (<cub/block/block_reduce.cuh>) are libraries, which take long; CUDA's own for its types
// are read faster than they are precompiled.
bool includes_library(std::string_view directives) {
  constexpr std::string_view INCLUDE = "#include <";
  for (std::size_t at = directives.find(INCLUDE); at != std::string_view::npos;
       at = directives.find(INCLUDE, at + 1)) {
    const std::size_t end = directives.find_first_of(">\n", at);
    if (directives.substr(at, end - at).find('/') != std::string_view::npos)
      return true;
  }
  return false;
}

// Whether this process is the first to ask: only one makes a header.
bool is_first(const fs::path& lock) {
  const int descriptor = ::open(lock.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor >= 0)
    ::close(descriptor);
  return descriptor >= 0;
}

// The directives alone: texts that differ in what they say about themselves have the same headers.
std::string without_comments(std::string_view directives) {
  std::string kept;
  bool is_directive = false;
  for (std::size_t at = 0; at < directives.size();) {
    const std::size_t end = std::min(directives.find('\n', at), directives.size());
    const std::string_view line = directives.substr(at, end - at);
    const std::size_t first = line.find_first_not_of(" \t\r");
    is_directive |= first != std::string_view::npos && line[first] == '#';
    if (is_directive)
      kept.append(line).push_back('\n');
    is_directive &= line.ends_with('\\');
    at = end + 1;
  }
  return kept;
}

bool blames_header(const std::string& log) {
  return log.find("PCH") != std::string::npos || log.find("precompiled") != std::string::npos;
}

} // namespace

std::string_view leading_directives(std::string_view source) {
  bool in_comment = false, continues = false;
  std::size_t at = 0;
  while (at < source.size()) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    std::string_view line = source.substr(at, end - at);
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    bool is_directive = continues;
    while (!is_directive && !line.empty()) {
      if (in_comment || line.starts_with("/*")) {
        const std::size_t close = line.find("*/", in_comment ? 0 : 2);
        in_comment = close == std::string_view::npos;
        line.remove_prefix(in_comment ? line.size() : close + 2);
        line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
      } else if (line.starts_with("//")) {
        line = {};
      } else if (line.starts_with('#')) {
        is_directive = true;
      } else {
        return source.substr(0, at);
      }
    }
    continues = is_directive && line.ends_with('\\');
    at = end + 1;
  }
  return source;
}

CompileReply HeaderReuse::compile(const Nvrtc& nvrtc, CompileJob job) const {
  const std::string_view directives = leading_directives(job.source);
  if (folder_.empty() || !includes_library(directives))
    return nvrtc.compile(job);
  std::string key = without_comments(directives);
  for (const std::string& option : job.options)
    key += '\n' + option;
  const std::string name = content_hash(key);
  const fs::path header = folder_ / (name + ".pch"), partial = folder_ / (name + ".partial");
  std::error_code failure;
  const bool is_there = fs::exists(header, failure);
  const bool makes = !is_there && is_first(folder_ / (name + ".lock"));
  if (!is_there && !makes)
    return nvrtc.compile(job);
  const std::vector<std::string> plain = job.options;
  job.options.push_back((makes ? "--create-pch=" + partial.string() : "--use-pch=" + header.string()));
  job.options.push_back("--pch-messages=false");
  CompileReply reply = nvrtc.compile(job);
  if (makes) {
    if (reply.compiled)
      fs::rename(partial, header, failure);
    else
      fs::remove(partial, failure); // it may be what fills the disk
  }
  if (reply.compiled || !blames_header(reply.log))
    return reply;
  job.options = plain;
  return nvrtc.compile(job);
}

} // namespace lathe
