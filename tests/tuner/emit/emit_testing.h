// A small specification with its two kernel texts and winners for it.
#pragma once

#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/base/subprocess.h"
#include "tuner/compile/compile.h"
#include "tuner/emit/emit.h"

#include <gtest/gtest.h>

namespace lathe {

// A macro, an include and a helper in both texts: what a header must keep apart and must not leak.
inline constexpr const char* raw_text = R"(#pragma once
#include <cuda_bf16.h>
#define SCALE_BY(x) ((x) * 2)
__device__ float helper(float x) { return SCALE_BY(x); }
template <typename T> __global__ void scale(T* out, const T* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = static_cast<T>(helper(static_cast<float>(in[i])));
}
)";
inline constexpr const char* template_text = R"(#pragma once
#include <cuda_bf16.h>
#define SCALE_BY(x) ((x) * 2)
__device__ float helper(float x) { return SCALE_BY(x); }
template <typename T, unsigned BLOCK> __global__ void __launch_bounds__(BLOCK) scale(T* out, const T* in, int n) {
  extern __shared__ float unused[];
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n)
    out[i] = static_cast<T>(helper(static_cast<float>(in[i])));
}
)";

inline Expression parse(const std::string& text) {
  auto parsed = Expression::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}

class Emit : public ::testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("emit-test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
    ASSERT_TRUE(write_file(path("scale.raw.cuh"), raw_text).ok());
    ASSERT_TRUE(write_file(path("scale.cuh"), template_text).ok());
    spec_.name = "scale";
    spec_.dimensions = {"n"};
    spec_.types = {{"T", {"bf16", "f32"}}};
    Knob block;
    block.name = "BLOCK";
    block.kind = KnobKind::block;
    block.type = "unsigned";
    block.values = {Value{std::int64_t{128}}, Value{std::int64_t{256}}};
    block.default_value = parse("256");
    spec_.knobs = {block};
    spec_.conditions = {{parse("n % BLOCK == 0 and BLOCK <= device.max_threads_per_block"), ""}};
    spec_.arguments = {argument("out", Direction::out), argument("in", Direction::in), scalar("n")};
    spec_.reference = {path("scale.raw.cuh"), "scale<{T}>", {}, geometry("256")};
    spec_.kernel = {path("scale.cuh"), "scale<{T}, {BLOCK}>", {}, geometry("BLOCK")};
    spec_.template_hash = content_hash(template_text);
  }

  static Argument argument(const char* name, Direction direction) {
    Argument result;
    result.name = name;
    result.dtype = "T";
    result.direction = direction;
    result.count = parse("n");
    return result;
  }

  static Argument scalar(const char* name) {
    Argument result;
    result.name = name;
    result.is_buffer = false;
    result.dtype = "i32";
    result.value = parse(name);
    return result;
  }

  static LaunchGeometry geometry(const std::string& block) {
    LaunchGeometry result;
    result.grid = {parse("ceil_div(n, " + block + ")"), parse("1"), parse("1")};
    result.block = {parse(block), parse("1"), parse("1")};
    return result;
  }

  static StoredWinner winner(std::int64_t n, std::int64_t block, double ratio,
                             const std::string& dtype = "bf16") {
    StoredWinner result;
    result.key = {
        "scale",    content_hash(template_text), dtype + " n=" + std::to_string(n), "NVIDIA H200", "580",
        "CUDA 13.0"};
    result.knobs = {Value{block}};
    result.knob_names = {"BLOCK"};
    result.comparison.ratio = ratio;
    result.comparison.ratio_low = ratio - 0.005;
    result.comparison.ratio_high = ratio + 0.005;
    result.comparison.noise_band = 0.01;
    result.architecture = "sm_90";
    result.problem.dimensions = {{"n", n}};
    result.types = {{"T", dtype}};
    return result;
  }

  static std::filesystem::path find_nvcc() {
    const auto toolkit = find_cuda_toolkit();
    if (toolkit.ok())
      for (const auto& include : toolkit->includes)
        for (const char* up : {"..", "../../.."})
          if (std::filesystem::exists(include / up / "bin/nvcc"))
            return include / up / "bin/nvcc";
    return {};
  }

  // Compiles a program that includes the header and runs it: 0 where every condition holds, else the number
  // of the first that does not.
  int first_failing(const std::string& header, const std::vector<std::string>& conditions) {
    std::string program = "#include \"scale.h\"\nusing namespace lathe_tuned::scale;\nint main() {\n";
    for (std::size_t i = 0; i < conditions.size(); ++i)
      program += "  if (!(" + conditions[i] + ")) return " + std::to_string(i + 1) + ";\n";
    EXPECT_TRUE(write_file(path("scale.h"), header).ok());
    EXPECT_TRUE(write_file(path("main.cu"), program + "  return 0;\n}\n").ok());
    SubprocessOptions options;
    options.folder = folder_->path();
    auto built =
        run_subprocess({find_nvcc().string(), "-std=c++17", "-arch=sm_90", "-o", "main", "main.cu"}, options);
    EXPECT_TRUE(built.ok() && built->succeeded()) << (built.ok() ? built->errors : "");
    auto ran = run_subprocess({path("main").string()}, options);
    return ran.ok() ? ran->exit_code : -1;
  }

  std::filesystem::path path(const std::string& name) const { return folder_->path() / name; }

  std::optional<TemporaryFolder> folder_;
  TuningSpec spec_;
};

} // namespace lathe
