// Compiling for the host: instances, options, errors, the cache.
#include "tests/tuner/measure/host_executor/support.h"

#include "tuner/base/files.h"

#include <cstdlib>

namespace lathe::testing {
namespace {

constexpr const char* scaled = R"(
#ifndef FACTOR
#define FACTOR 2
#endif
template <typename T, int N> __global__ void k(T* out, const T* in, int n) {
  static_assert(N < 8, "too many");
  for (int i = 0; i < N; ++i) out[i] = in[i] * T(FACTOR);
})";

TEST(Compile, ABrokenInstanceCostsOnlyItself) {
  const std::vector<std::string> instances{"k<float, 2>", "k<float, 9>", "k<int, 3>", "k<unknown, 1>"};
  const auto kernels = HostKernel::compile_all(scaled, instances);
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_TRUE(kernels[0].ok()) << kernels[0].error().sentence();
  ASSERT_FALSE(kernels[1].ok());
  EXPECT_NE(kernels[1].error().sentence().find("too many"), std::string::npos);
  EXPECT_TRUE(kernels[2].ok());
  ASSERT_FALSE(kernels[3].ok());
  EXPECT_NE(kernels[3].error().sentence().find("unknown"), std::string::npos);
}

TEST(Compile, MacrosOfTheOptionsCount) {
  HostCompileOptions options;
  options.compile_options = {"-DFACTOR=5", "-arch=sm_90", "--use_fast_math"};
  const HostKernel kernel = compile(scaled, options, "k<int, 1>");
  auto out = HostBuffer::allocate(4), in = HostBuffer::allocate(4);
  ASSERT_TRUE(out.ok() && in.ok());
  in->as<int>()[0] = 3;
  const std::vector<HostArgument> arguments{HostArgument::of(*out), HostArgument::of(*in),
                                            HostArgument::scalar(1)};
  ASSERT_TRUE(kernel.run(shape(1, 1), arguments).ok());
  EXPECT_EQ(out->as<int>()[0], 15);
}

TEST(Compile, ErrorsNameTheFileAndLine) {
  const auto kernel =
      HostKernel::compile("__global__ void k(float* out) {\n  out[0] = nothing;\n}", "k", {}, "wrong.cu");
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.error().sentence().find("wrong.cu:2"), std::string::npos) << kernel.error().sentence();
}

TEST(Compile, TheCacheIsByContent) {
  auto folder = TemporaryFolder::create("host-cache");
  ASSERT_TRUE(folder.ok());
  HostCompileOptions options;
  options.cache_folder = folder->path().string();
  const std::string source = "__global__ void k(int* out) { out[0] = 1; }";
  EXPECT_FALSE(compile(source, options).from_cache());
  EXPECT_TRUE(compile(source, options).from_cache());
  EXPECT_TRUE(compile(source + " // a comment changes nothing", options).from_cache());
  EXPECT_FALSE(compile("__global__ void k(int* out) { out[0] = 2; }", options).from_cache());
  options.sanitize = true;
  EXPECT_FALSE(compile(source, options).from_cache());
}

TEST(Compile, WhatEveryKernelStandsBehindIsParsedOnce) {
  auto folder = TemporaryFolder::create("host-cache");
  ASSERT_TRUE(folder.ok());
  HostCompileOptions options;
  options.cache_folder = folder->path().string();
  const auto headers = [&] {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder->path()))
      if (entry.path().extension() == ".pch")
        found.push_back(entry.path());
    return found;
  };
  compile("__global__ void k(int* out) { out[0] = 1; }", options);
  ASSERT_EQ(headers().size(), 1u);
  const auto made = std::filesystem::last_write_time(headers().front());
  compile("__global__ void k(int* out) { out[0] = 2; }", options);
  ASSERT_EQ(headers().size(), 1u);
  EXPECT_EQ(std::filesystem::last_write_time(headers().front()), made);
  // One that is damaged is left aside.
  ASSERT_TRUE(write_file(headers().front(), "nothing").ok());
  compile("__global__ void k(int* out) { out[0] = 3; }", options);
}

TEST(Compile, HeadersThatEveryKernelHasAreNotReadAgain) {
  compile("#include \"lathe_simd.h\"\n#include <cuda_fp16.h>\n#include <cassert>\n"
          "__global__ void k(__half* out) { assert(out); out[0] = __float2half(1.f); }");
}

TEST(Compile, ACacheThatMayNotBeWrittenToIsNotNeeded) {
  const char* const known = std::getenv("XDG_CACHE_HOME");
  const std::string before = known ? known : "";
  ::setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  const auto kernel =
      HostKernel::compile("__global__ void k(int* out) { out[0] = 4; }", "k", {}, "kernel.cu");
  if (known)
    ::setenv("XDG_CACHE_HOME", before.c_str(), 1);
  else
    ::unsetenv("XDG_CACHE_HOME");
  EXPECT_TRUE(kernel.ok()) << kernel.error().sentence();
}

TEST(Compile, ParametersAreKnown) {
  const HostKernel kernel =
      compile("struct P { int a; double b; };\n"
              "__global__ void k(const float* in, int* out, P p, char c) { out[0] = p.a; }");
  const auto& parameters = kernel.parameters();
  ASSERT_EQ(parameters.size(), 4u);
  EXPECT_TRUE(parameters[0].is_pointer && parameters[0].points_to_const);
  EXPECT_TRUE(parameters[1].is_pointer && !parameters[1].points_to_const);
  EXPECT_EQ(parameters[2].size, 16u);
  EXPECT_EQ(parameters[3].size, 1u);
}

} // namespace
} // namespace lathe::testing
