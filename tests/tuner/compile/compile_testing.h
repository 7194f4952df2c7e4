#pragma once

#include "tuner/base/files.h"
#include "tuner/compile/compile.h"

#include <gtest/gtest.h>

namespace lathe::test {

// A compiler with a cache of its own, or none.
inline std::unique_ptr<Compiler> compiler(CompilerOptions options) {
  if (options.jobs == 0)
    options.jobs = 2;
  auto created = Compiler::create(options);
  EXPECT_TRUE(created.ok()) << created.error().sentence();
  return created.ok() ? std::move(*created) : nullptr;
}

inline std::unique_ptr<Compiler> uncached() {
  CompilerOptions options;
  options.use_cache = false;
  return compiler(options);
}

inline CompileRequest request(std::string source, std::vector<std::string> instances) {
  CompileRequest wanted;
  wanted.source = std::move(source);
  wanted.instances = std::move(instances);
  return wanted;
}

inline KernelImage image(const CompiledKernel& kernel) {
  auto read = kernel_image(*kernel.cubin, kernel.entry);
  EXPECT_TRUE(read.ok()) << read.error().sentence();
  return read.ok() ? *read : KernelImage{};
}

} // namespace lathe::test
