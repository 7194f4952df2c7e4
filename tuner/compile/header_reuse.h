// Headers that batch after batch begins with, precompiled by the first worker that needs them and used by it
// and the others: NVRTC parses cub in 0.7 s, and reads it in 0.2. The code that comes out is the same, byte
// by byte.
#pragma once

#include "tuner/compile/nvrtc.h"

#include <filesystem>

namespace lathe {

// One folder of precompiled headers, shared by workers that are forks of one process with a reserved heap
// (Nvrtc::reserve_header_heap), and of use to no others.
class HeaderReuse {
public:
  // An empty folder reuses nothing.
  explicit HeaderReuse(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // As nvrtc.compile(job). Jobs that do not begin with a library's headers are compiled as they are; where a
  // precompiled header cannot be written or read, the job is compiled without.
  CompileReply compile(const Nvrtc& nvrtc, CompileJob job) const;

private:
  std::filesystem::path folder_;
};

// What a source begins with: its comments and preprocessing directives, up to the first line of anything
// else.
std::string_view leading_directives(std::string_view source);

} // namespace lathe
