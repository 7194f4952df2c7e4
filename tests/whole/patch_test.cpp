// A raw kernel with its launcher -> template -> tuned on the host executor -> header -> patch of the
// launcher, which is applied to a copy of the source and compiled.
#include "tests/whole/command.h"
#include "tuner/compile/compile.h"

#include <algorithm>

namespace lathe {
namespace {

// The launcher's size has another name than the kernel's, and the program says whether the numbers are right.
constexpr const char* SOURCE = R"(// Rows that are doubled.
#include <cstdio>
#include <vector>

template <typename T, int FACTOR> __global__ void scale(T* __restrict__ out, const T* __restrict__ in, int d) {
  const int row = blockIdx.x;
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    out[row * d + i] = in[row * d + i] * T(FACTOR);
}

template <typename T> void twice(T* out, const T* in, std::size_t rows, int d, cudaStream_t stream) {
  scale<T, 2><<<rows, 128, 0, stream>>>(out, in, d);
}

void thrice(float* out, const float* in, int rows, int d) {
  scale<float, 3><<<rows, 128>>>(out, in, d);
}

int main() {
  constexpr int rows = 4, d = 512;
  std::vector<float> host(rows * d, 1.5f);
  float *in = nullptr, *out = nullptr;
  if (cudaMalloc(&in, host.size() * sizeof(float)) != cudaSuccess || cudaMalloc(&out, host.size() * sizeof(float)) != cudaSuccess)
    return 3;
  cudaMemcpy(in, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
  twice(out, in, rows, d, nullptr);
  cudaMemcpy(host.data(), out, host.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (float value : host)
    if (value != 3.0f)
      return 1;
  thrice(out, in, rows, d);
  cudaMemcpy(host.data(), out, host.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (float value : host)
    if (value != 4.5f)
      return 1;
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
)";

class Patch : public CommandTest {
protected:
  void SetUp() override {
    CommandTest::SetUp();
    write("src/scale.cu", SOURCE);
    succeed({"templatize", "src/scale.cu", "--kernel", "scale", "--name", "scale", "--types", "T=f32",
             "--problem", "rows=4,d=512", "--no-check"});
    succeed({"tune", SPEC, "--device", "host", "--evaluations", "4", "--results", "results.sqlite"});
    succeed({"export", SPEC, "--results", "results.sqlite", "--allow-host", "-o", HEADER});
  }
  void succeed(const std::vector<std::string>& arguments) {
    const auto ran = lathe(arguments);
    ASSERT_EQ(ran.exit_code, 0) << ran.errors << ran.output;
  }
  SubprocessResult run(const std::vector<std::string>& command) {
    SubprocessOptions options;
    options.folder = folder();
    options.timeout = std::chrono::minutes(5);
    // The folder lies in no repository of its own.
    options.environment = {{"GIT_CEILING_DIRECTORIES", folder().parent_path().string()}};
    const auto ran = run_subprocess(command, options);
    EXPECT_TRUE(ran.ok()) << (ran.ok() ? "" : ran.error().sentence());
    return ran.ok() ? *ran : SubprocessResult{};
  }

  // Beside the headers that Lathe compiles with; empty where there is none.
  static std::filesystem::path find_nvcc() {
    if (const auto toolkit = find_cuda_toolkit(); toolkit.ok())
      for (const auto& include : toolkit->includes)
        for (const char* up : {"..", "../../.."})
          if (std::filesystem::exists(include / up / "bin/nvcc"))
            return include / up / "bin/nvcc";
    return {};
  }

  static constexpr const char* SPEC = "search_spaces/scale.json";
  static constexpr const char* HEADER = "include/tuned/scale.h";
};

TEST_F(Patch, IsAppliedCompiledAndGivesTheSameNumbers) {
  const auto made = lathe({"patch", SPEC, "--header", HEADER, "-o", "scale.patch"});
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  EXPECT_NE(made.errors.find("it launches <float, 3>"), std::string::npos) << made.errors;

  const auto applied = run({"git", "apply", "scale.patch"});
  ASSERT_EQ(applied.exit_code, 0) << applied.errors << *read_file(folder() / "scale.patch");
  const std::string text = *read_file(folder() / "src/scale.cu");
  EXPECT_NE(text.find("#include <vector>\n#include \"../include/tuned/scale.h\"\n"), std::string::npos)
      << text;
  EXPECT_NE(
      text.find("  lathe_tuned::scale::launch({static_cast<long long>(rows), d}, stream, out, in, d);\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("scale<float, 3><<<rows, 128>>>(out, in, d);"), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), std::ranges::count(std::string(SOURCE), '\n') + 1);

  // Outside Lathe: for host and device, with warnings as errors.
  const std::filesystem::path nvcc = find_nvcc();
  ASSERT_FALSE(nvcc.empty()) << "no nvcc beside the toolkit's headers";
  const auto compiled = run(
      {nvcc.string(), "-std=c++17", "-arch=sm_90", "-Werror", "all-warnings", "-o", "scale", "src/scale.cu"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.errors;
  // Once is enough.
  expect_sentence(lathe({"patch", SPEC, "--header", HEADER}), 1, {"cannot patch the launches of scale"});

  const auto ran = run({"./scale"});
  constexpr int no_device = 3;
  if (ran.exit_code == no_device)
    GTEST_SKIP() << "patched and compiled; there is no GPU to run the program on";
  EXPECT_EQ(ran.exit_code, 0);
}

TEST_F(Patch, IncludesTheHeaderAsAsked) {
  const auto made =
      lathe({"patch", SPEC, "--header", HEADER, "--include", "tuned/scale.h", "--launcher", "src/scale.cu"});
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  EXPECT_TRUE(made.output.starts_with("--- a/src/scale.cu\n+++ b/src/scale.cu\n@@ ")) << made.output;
  EXPECT_NE(made.output.find("\n+#include \"tuned/scale.h\"\n"), std::string::npos) << made.output;
}

TEST_F(Patch, RefusesInOneSentence) {
  expect_sentence(lathe({"patch", SPEC}), 2, {"no header is named", "--header"});
  expect_sentence(lathe({"patch", SPEC, "--header", "no.h"}), 1, {"no.h"});
  write("other.h", "// LATHE_TEMPLATE_SHA1 0000\nnamespace scale {}\n");
  expect_sentence(lathe({"patch", SPEC, "--header", "other.h"}), 1, {"is not its header", "lathe export"});
  write("src/nobody.cu", "int nobody() { return 0; }\n");
  expect_sentence(lathe({"patch", SPEC, "--header", HEADER, "--launcher", "src/nobody.cu"}), 1,
                  {"launches scale", "--launcher"});
  const std::string declared = "template <typename T, int FACTOR> __global__ void scale(T* __restrict__ out, "
                               "const T* __restrict__ in, int d);\n";
  write("src/macro.cu", declared + "#define RUN scale<float, 2><<<n, 128>>>(x, x, d)\n"
                                   "void run(float* x, int n, int d) { RUN; }\n");
  expect_sentence(
      lathe({"patch", SPEC, "--header", HEADER, "--launcher", "src/macro.cu", "-o", "none.patch"}), 1,
      {"macro.cu:3", "it stands in the macro RUN", "by hand"});
  write("src/other.cu",
        declared + "void run(float* x, int n, int d) { scale<float, 2><<<n, 256>>>(x, x, d); }\n");
  expect_sentence(
      lathe({"patch", SPEC, "--header", HEADER, "--launcher", "src/other.cu", "-o", "none.patch"}), 1,
      {"other.cu:2", "block.x is 256 here and 128 in the header"});
  EXPECT_FALSE(std::filesystem::exists(folder() / "none.patch"));
}

TEST_F(Patch, WhatWouldNotCompileIsNotWritten) {
  write("src/hidden.cu",
        "template <typename T, int FACTOR> __global__ void scale(T* __restrict__ out, const T* "
        "__restrict__ in, int d);\n"
        "void run(float* x, int n, int d) {\n"
        "  struct lathe_tuned {};\n"
        "  scale<float, 2><<<n, 128>>>(x, x, d);\n"
        "}\n");
  expect_sentence(
      lathe({"patch", SPEC, "--header", HEADER, "--launcher", "src/hidden.cu", "-o", "none.patch"}), 1,
      {"does not compile", "a file of its own"});
  EXPECT_FALSE(std::filesystem::exists(folder() / "none.patch"));
}

} // namespace
} // namespace lathe
