#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/base/subprocess.h"
#include "tuner/compile/compile.h"
#include "tuner/emit/cxx_expression.h"
#include "tuner/emit/emit.h"
#include "tuner/emit/header_source.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

// A macro, an include and a helper in both texts: what a header must keep apart and must not leak.
constexpr const char* raw_text = R"(#pragma once
#include <cuda_bf16.h>
#define SCALE_BY(x) ((x) * 2)
__device__ float helper(float x) { return SCALE_BY(x); }
template <typename T> __global__ void scale(T* out, const T* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = static_cast<T>(helper(static_cast<float>(in[i])));
}
)";
constexpr const char* template_text = R"(#pragma once
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

Expression parse(const std::string& text) {
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

TEST_F(Emit, GainInsideTheNoiseKeepsTheRawKernel) {
  auto header = emit_header(spec_, {winner(1024, 128, 1.005), winner(4096, 128, 1.5)}, {});
  ASSERT_TRUE(header.ok()) << header.error().sentence();
  EXPECT_NE(header->find("{0, 0, {1024}, -1}"), std::string::npos) << *header;
  EXPECT_NE(header->find("{0, 0, {4096}, 0}"), std::string::npos) << *header;
  EXPECT_NE(header->find("LATHE_TEMPLATE_SHA1 " + spec_.template_hash), std::string::npos);
}

TEST_F(Emit, ReportOnlyProblemsNeverChooseAConfiguration) {
  StoredWinner reported = winner(512, 128, 2.0);
  reported.problem.role = ProblemRole::report;
  auto header = emit_header(spec_, {reported, winner(1024, 256, 1.5)}, {});
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->find("{512}"), std::string::npos);
}

TEST_F(Emit, HostTimesAreRefusedUnlessAskedForAndLabelled) {
  StoredWinner host = winner(1024, 128, 1.5);
  host.is_host = true;
  EXPECT_FALSE(emit_header(spec_, {host}, {}).ok());
  HeaderOptions options;
  options.allow_host = true;
  auto header = emit_header(spec_, {host}, options);
  ASSERT_TRUE(header.ok());
  EXPECT_NE(header->find("HOST-EXECUTOR TIMES"), std::string::npos);
}

// Compiled by nvcc as C++17 with the macro defined differently outside, in two units that are linked
// together.
TEST_F(Emit, HeaderCompilesInTwoUnitsAndLeaksNoMacro) {
  const std::filesystem::path nvcc = find_nvcc();
  ASSERT_FALSE(nvcc.empty()) << "no nvcc beside the toolkit's headers";
  auto header =
      emit_header(spec_, {winner(1024, 128, 1.4), winner(4096, 256, 1.5), winner(64, 128, 1.2, "f32")}, {});
  ASSERT_TRUE(header.ok()) << header.error().sentence();
  ASSERT_TRUE(write_file(path("scale.h"), *header).ok());
  ASSERT_TRUE(write_file(path("a.cu"),
                         "#define SCALE_BY 7\n#include \"scale.h\"\nstatic_assert(SCALE_BY == 7);\n"
                         "static_assert(lathe_tuned::scale::ceil_div(7, 2) == 4);\n"
                         "cudaError_t other(float*, const float*);\n"
                         "int main() { return other(nullptr, nullptr) == cudaSuccess && "
                         "lathe_tuned::scale::select(0, 0, {4096}) == 1 && "
                         "lathe_tuned::scale::select(0, 0, {4095}) == -1 ? 0 : 1; }\n")
                  .ok());
  ASSERT_TRUE(write_file(path("b.cu"),
                         "#include \"scale.h\"\ncudaError_t other(float* out, const float* in) {\n"
                         "  return lathe_tuned::scale::launch({0}, nullptr, out, in, 0); }\n")
                  .ok());
  SubprocessOptions options;
  options.folder = folder_->path();
  auto built = run_subprocess(
      {nvcc.string(), "-std=c++17", "-arch=sm_90", "-Werror", "all-warnings", "-c", "a.cu"}, options);
  ASSERT_TRUE(built.ok());
  EXPECT_TRUE(built->succeeded()) << built->errors << built->output << *header;
  built = run_subprocess({nvcc.string(), "-std=c++17", "-arch=sm_90", "-c", "b.cu"}, options);
  ASSERT_TRUE(built.ok());
  EXPECT_TRUE(built->succeeded()) << built->errors;
  built = run_subprocess({nvcc.string(), "-o", "both", "a.o", "b.o"}, options);
  ASSERT_TRUE(built.ok());
  ASSERT_TRUE(built->succeeded()) << built->errors;
  // A grid of zero blocks needs no device, so that the program's own checks run anywhere.
  built = run_subprocess({path("both").string()}, options);
  ASSERT_TRUE(built.ok());
  EXPECT_TRUE(built->succeeded()) << built->ending();
}

// n only decides the number of blocks: between two measured sizes that gained, the nearer one's
// configuration.
TEST_F(Emit, SelectionBetweenMeasuredSizes) {
  auto header = emit_header(
      spec_,
      {winner(1024, 128, 1.4), winner(4096, 256, 1.5), winner(16384, 128, 1.0), winner(65536, 128, 1.2)}, {});
  ASSERT_TRUE(header.ok()) << header.error().sentence();
  EXPECT_EQ(first_failing(*header, {"select(0, 0, {1024}) == 0", "select(0, 0, {1536}) == 0",
                                    "select(0, 0, {3072}) == 1", "select(0, 0, {3072 + 1}) == -1",
                                    // Beside a size at which nothing was gained the raw kernel runs.
                                    "select(0, 0, {8192}) == -1", "select(0, 0, {16384}) == -1",
                                    "select(0, 0, {32768}) == -1",
                                    // Up to four times beyond what was measured.
                                    "select(0, 0, {65536 * 4}) == 0", "select(0, 0, {65536 * 5}) == -1",
                                    "select(0, 0, {256}) == 0", "select(0, 0, {128}) == -1",
                                    "select(1, 0, {1024}) == -1", "select(-1, 0, {1024}) == -1"}),
            0);
}

// A size that decides the block must be one that was measured.
TEST_F(Emit, SelectionNeverCrossesSizesThatShapeABlock) {
  spec_.dimensions = {"n", "d"};
  spec_.reference.launch.block[0] = parse("min(d, 256)");
  StoredWinner narrow = winner(1024, 128, 1.4), wide = winner(1024, 256, 1.5);
  narrow.problem.dimensions["d"] = 64;
  wide.problem.dimensions["d"] = 512;
  auto header = emit_header(spec_, {narrow, wide}, {});
  ASSERT_TRUE(header.ok()) << header.error().sentence();
  EXPECT_EQ(first_failing(*header, {"select(0, 0, {1024, 64}) == 0", "select(0, 0, {1024, 512}) == 1",
                                    "select(0, 0, {1024, 65}) == -1", "select(0, 0, {1024, 256}) == -1",
                                    "select(0, 0, {2048, 512}) == 1"}),
            0);
}

TEST_F(Emit, T4HoldsEveryEvaluationWithItsFailure) {
  StoredEvaluation good;
  good.knobs = {Value{std::int64_t{128}}};
  good.measurement.timing.median_us = 250;
  StoredEvaluation bad = good;
  bad.measurement.outcome = Outcome::compile_error;
  const auto json = nlohmann::json::parse(emit_t4(spec_, winner(1024, 128, 1.5).key, {good, bad}));
  ASSERT_EQ(json["results"].size(), 2u);
  EXPECT_DOUBLE_EQ(json["results"][0]["measurements"][0]["value"], 0.25);
  EXPECT_EQ(json["results"][1]["invalidity"], "compile");
}

TEST(CxxExpression, KeepsTheMeaningOfChainsAndMembership) {
  const CxxName name = [](std::string_view text) { return std::optional(std::string(text)); };
  EXPECT_EQ(*cxx_expression(parse("1 < a <= 4"), name), "((1LL < a) && (a <= 4LL))");
  EXPECT_EQ(*cxx_expression(parse("a in [1, 2]"), name), "(((a == 1LL) || (a == 2LL)))");
  EXPECT_EQ(*cxx_expression(parse("min(a, 3, b)"), name), "minimum(minimum(a, 3LL), b)");
}

TEST(CxxExpression, RefusesWhatTheHeaderCannotKnow) {
  const CxxName nothing = [](std::string_view) { return std::optional<std::string>(); };
  EXPECT_FALSE(cxx_expression(parse("mystery + 1"), nothing).ok());
}

TEST(HeaderSource, HoistsIncludesOutsideCommentsOnly) {
  const HeaderSource source = split_source(
      "#pragma once\n/* #define A\n#include <no>\n*/\n  #  include <yes>\n#define B(x) x\nint a;\n");
  EXPECT_EQ(source.includes, std::vector<std::string>{"#include <yes>"});
  EXPECT_EQ(source.macros, std::vector<std::string>{"B"});
  EXPECT_NE(source.body.find("#include <no>"), std::string::npos);
}

} // namespace
} // namespace lathe
