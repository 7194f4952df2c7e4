// Kernels run on the host executor in one line a test.
#pragma once

#include "tuner/measure/host_executor/host_executor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lathe::testing {

inline Launch shape(unsigned grid, unsigned block, unsigned shared_bytes = 0) {
  return {{grid, 1, 1}, {block, 1, 1}, shared_bytes};
}

// Compiles one kernel named k; a test fails when it does not compile.
HostKernel compile(const std::string& source, const HostCompileOptions& options = {},
                   const std::string& instance = "k");
HostCompileOptions checked();
HostCompileOptions traced();

// Runs k(out, in, n) over buffers of T and returns what is in `out`.
template <class T>
std::vector<T> run(const std::string& source, const Launch& launch, std::size_t out_size,
                   const std::vector<T>& in, const HostRunOptions& options = {},
                   const HostCompileOptions& compile_options = {}) {
  const HostKernel kernel = compile(source, compile_options);
  auto out = HostBuffer::allocate(out_size * sizeof(T));
  auto input = HostBuffer::allocate(in.size() * sizeof(T));
  EXPECT_TRUE(out.ok() && input.ok());
  std::copy(in.begin(), in.end(), input->template as<T>().begin());
  const std::vector<HostArgument> arguments{HostArgument::of(*out, "out"), HostArgument::of(*input, "in"),
                                            HostArgument::scalar(static_cast<int>(in.size()))};
  const auto result = kernel.run(launch, arguments, options);
  EXPECT_TRUE(result.ok()) << result.error().sentence();
  if (result.ok()) {
    EXPECT_EQ(result->outcome, Outcome::ok) << result->reason;
  }
  EXPECT_FALSE(out->damage() || input->damage());
  return {out->template as<T>().begin(), out->template as<T>().end()};
}

// The outcome of k(out, in, n) over `elements` floats each, in a child process.
HostRunResult outcome(const std::string& source, const Launch& launch, std::size_t elements,
                      const HostCompileOptions& options, double time_limit_s = 10);

} // namespace lathe::testing
