// From CUDA text to a shared object.
#pragma once

#include "tuner/measure/host_executor/host_executor.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::host {

struct Compiler {
  std::string path, version; // version: first line of --version
  std::string rewriter;      // a digest of what turns CUDA into C++
  bool is_clang = false;
  std::filesystem::path cuda_include;    // the toolkit's headers
  std::filesystem::path device_include;  // the executor's own headers
  std::filesystem::path library_include; // own texts under the names of CUDA's device libraries
  std::filesystem::path checks_plugin;   // clang's plugin for checked kernels; empty where it does not fit
};
// Found once per process.
Result<Compiler> find_compiler();

struct CompiledUnit {
  std::filesystem::path object;
  bool from_cache = false;
  double seconds = 0;
};

// One translation unit with an entry for each instance, in order. The error carries the first diagnostic.
Result<CompiledUnit> compile_unit(const Compiler& compiler, std::string_view source,
                                  std::span<const std::string> instances, const HostCompileOptions& options,
                                  std::string_view file_name);

// "kernel.cu:12" for an offset into the object, or empty when it cannot be told.
std::string source_line(const std::filesystem::path& object, std::uintptr_t offset);

} // namespace lathe::host
