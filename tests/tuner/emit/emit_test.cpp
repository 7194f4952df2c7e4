#include "tests/tuner/emit/emit_testing.h"
#include "tuner/emit/cxx_expression.h"
#include "tuner/emit/header_source.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

TEST_F(Emit, GainInsideTheNoiseKeepsTheRawKernel) {
  auto header = emit_header(spec_, {winner(1024, 128, 1.005), winner(4096, 128, 1.5)}, {});
  ASSERT_TRUE(header.ok()) << header.error().sentence();
  EXPECT_NE(header->find("{0, 0, {1024}, -1, false}"), std::string::npos) << *header;
  EXPECT_NE(header->find("{0, 0, {4096}, 0, true}"), std::string::npos) << *header;
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
                         "static_assert(lathe_tuned::scale::logarithm2(100) == 6);\n"
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

// What the specification calls i64 and the compiler long long is the kernel's int64_t, which is long.
TEST_F(Emit, SixtyFourBitArgumentsReachTheKernel) {
  const std::string text =
      "#include <cstdint>\ntemplate <typename T> __global__ void scale(T* out, const T* in, "
      "const int64_t* rows, uint64_t n) { out[rows[0]] = in[n]; }\n";
  ASSERT_TRUE(write_file(path("scale.raw.cuh"), text).ok());
  Argument rows = argument("rows", Direction::in);
  rows.dtype = "i64";
  spec_.arguments.insert(spec_.arguments.begin() + 2, rows);
  spec_.arguments.back().dtype = "u64";
  auto header = emit_header(spec_, {winner(1024, 128, 1.0)}, {});
  ASSERT_TRUE(header.ok()) << header.error().sentence();
  EXPECT_EQ(first_failing(*header, {"select(0, 0, {1024}) == -1",
                                    "launch({0}, nullptr, (float*)nullptr, (const float*)nullptr, "
                                    "(const long long*)nullptr, 0) == cudaSuccess"}),
            0);
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
                                    "select(2, 0, {1024}) == -1", "select(-1, 0, {1024}) == -1"}),
            0);
}

// On another GPU of the architecture (the index behind the table's devices) only what gained a fifth is used.
TEST_F(Emit, SelectionOnAGpuThatWasNotMeasured) {
  auto header =
      emit_header(spec_, {winner(1024, 128, 1.4), winner(4096, 256, 1.5), winner(65536, 128, 1.1)}, {});
  ASSERT_TRUE(header.ok()) << header.error().sentence();
  EXPECT_EQ(
      first_failing(*header, {"device_count == 1", "select(0, 0, {65536}) == 0", "select(1, 0, {1024}) == 0",
                              "select(1, 0, {4096}) == 1", "select(1, 0, {1536}) == 0",
                              "select(1, 0, {65536}) == -1", "select(0, 0, {32768}) == 0",
                              "select(1, 0, {32768}) == -1", "select(2, 0, {1024}) == -1"}),
      0);
}

// A kernel that was compiled for a size runs at that size alone, whatever lies between measured ones.
TEST_F(Emit, KernelsForOneSizeRunAtThatSize) {
  const std::string text =
      "template <typename T, unsigned BLOCK, int FIXED_D> __global__ void scale(T* out, const T* in, int n, "
      "int d) {\n  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
      "  if (i < n * (FIXED_D == 0 ? d : FIXED_D))\n    out[i] = in[i / (FIXED_D == 0 ? d : FIXED_D)];\n}\n";
  ASSERT_TRUE(write_file(path("scale.cuh"), text).ok());
  ASSERT_TRUE(
      write_file(path("scale.raw.cuh"),
                 "template <typename T> __global__ void scale(T* out, const T* in, int n, int d) {}\n")
          .ok());
  spec_.template_hash = content_hash(text);
  spec_.dimensions = {"n", "d"};
  spec_.arguments.push_back(scalar("d"));
  Knob fixed;
  fixed.name = "FIXED_D";
  fixed.kind = KnobKind::size;
  fixed.values = {Value{std::int64_t{0}}, Value{std::int64_t{1}}};
  fixed.default_value = parse("0");
  fixed.size = parse("d");
  spec_.knobs.push_back(fixed);
  spec_.kernel.instance = "scale<{T}, {BLOCK}, {FIXED_D}>";
  for (LaunchGeometry* launch : {&spec_.kernel.launch, &spec_.reference.launch})
    launch->grid[0] = parse("n * d");
  std::vector<StoredWinner> winners;
  for (const auto& [n, d, is_fixed] : {std::tuple(1024, 64, 1), std::tuple(1024, 512, 1),
                                       std::tuple(4096, 64, 1), std::tuple(8192, 512, 0)}) {
    StoredWinner one = winner(n, 128, 1.4);
    one.key.template_hash = spec_.template_hash;
    one.problem.dimensions["d"] = d;
    one.knobs.push_back(Value{std::int64_t{is_fixed}});
    one.knob_names.push_back("FIXED_D");
    winners.push_back(one);
  }
  const auto header = emit_header(spec_, winners, {});
  ASSERT_TRUE(header.ok()) << header.error().sentence();
  EXPECT_NE(header->find("scale<__nv_bfloat16, 128, 64>"), std::string::npos) << *header;
  EXPECT_NE(header->find("scale<__nv_bfloat16, 128, 512>"), std::string::npos) << *header;
  EXPECT_NE(header->find("scale<__nv_bfloat16, 128, 0>"), std::string::npos) << *header;
  // n and d only count elements. Between (1024, 512) and (8192, 512) the one that any size may use is left.
  EXPECT_EQ(first_failing(*header, {"select(0, 0, {1024, 64}) == 0", "select(0, 0, {1024, 512}) == 1",
                                    "select(0, 0, {4096, 64}) == 0", "select(0, 0, {2048, 64}) == 0",
                                    "select(0, 0, {2048, 96}) == -1", "select(0, 0, {1536, 512}) == 1",
                                    "select(0, 0, {8192, 512}) == 2", "select(0, 0, {8192, 640}) == 2",
                                    "!admits(0, {1024, 512}) && admits(2, {1024, 96})"}),
            0);
}

// A size that the texts fix is a macro there, and nobody is asked for it.
TEST_F(Emit, SizesOfTheTextAreNoPartOfTheProblem) {
  const std::string
      size = "#ifndef LATHE_SIZE_N\n#define LATHE_SIZE_N 1024\n#endif\n#define N LATHE_SIZE_N\n",
      body = " scale(T* out, const T* in) {\n"
             "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < N) out[i] = in[i];\n}\n";
  const std::string text = size + "template <typename T, unsigned BLOCK> __global__ void" + body;
  ASSERT_TRUE(write_file(path("scale.cuh"), text).ok());
  ASSERT_TRUE(write_file(path("scale.raw.cuh"), size + "template <typename T> __global__ void" + body).ok());
  spec_.template_hash = content_hash(text);
  spec_.dimensions = {"N"};
  spec_.text_sizes = {{"N", "LATHE_SIZE_N", 1024, {64}}};
  spec_.conditions = {{parse("N % BLOCK == 0"), ""}};
  spec_.arguments.pop_back();
  for (Argument& one : spec_.arguments)
    one.count = parse("N");
  for (LaunchGeometry* launch : {&spec_.kernel.launch, &spec_.reference.launch})
    launch->grid[0] = parse("ceil_div(N, 256)");
  StoredWinner one = winner(1024, 128, 1.4);
  one.key.template_hash = spec_.template_hash;
  one.problem.dimensions = {{"N", 1024}};
  const auto header = emit_header(spec_, {one}, {});
  ASSERT_TRUE(header.ok()) << header.error().sentence();
  // The including file's own macro of that name is another one.
  EXPECT_EQ(first_failing("#define N 7\n" + *header, {"select(0, 0, {}) == 0", "admits(0, {})", "N == 7"}),
            0);
  const auto source = emit_cuda(spec_, one, {}, true);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  EXPECT_EQ(first_failing(source->text, {"admits({})"}), 0);
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

// Where the raw launcher chooses between two kernels, so does the header's fallback when it runs, and a
// configuration that beat the raw side below and above the threshold is taken between.
TEST_F(Emit, FallbackChoosesBetweenRawKernels) {
  const std::string other = "template <typename T> __global__ void scale_many(T* out, const T* in, int n) {\n"
                            "  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i];\n}\n";
  ASSERT_TRUE(write_file(path("scale.raw.cuh"), raw_text + other).ok());
  Knob choice;
  choice.name = "KERNEL";
  choice.values = {Value{std::int64_t{1}}, Value{std::int64_t{2}}};
  choice.default_value = parse("n >= 16 * device.multiprocessors ? 1 : 2");
  spec_.knobs.push_back(choice);
  spec_.reference.instance = "KERNEL == 1 ? scale_many<{T}> : scale<{T}>";
  spec_.reference.launch.grid[0] = parse("KERNEL == 1 ? ceil_div(n, 2048) : ceil_div(n, 256)");
  std::vector<StoredWinner> winners{winner(1024, 128, 1.4), winner(4096, 256, 1.5)};
  for (StoredWinner& one : winners) {
    one.knobs.push_back(Value{std::int64_t{2}});
    one.knob_names.push_back("KERNEL");
  }
  auto header = emit_header(spec_, winners, {});
  ASSERT_TRUE(header.ok()) << header.error().sentence();
  EXPECT_NE(header->find("device_limit<cudaDevAttrMultiProcessorCount>()"), std::string::npos) << *header;
  EXPECT_NE(header->find("launch_kernel(scale_many<__nv_bfloat16>"), std::string::npos) << *header;
  EXPECT_EQ(first_failing(*header, {"select(0, 0, {1024}) == 0", "select(0, 0, {1536}) == 0",
                                    "select(0, 0, {3072}) == 1",
                                    "launch_raw({0}, nullptr, (__nv_bfloat16*)nullptr, (const "
                                    "__nv_bfloat16*)nullptr, 0) == cudaSuccess"}),
            0);
  // A choice that is no threshold says nothing of the sizes between.
  spec_.knobs.back().default_value = parse("n % 3 == 0 ? 1 : 2");
  header = emit_header(spec_, winners, {});
  ASSERT_TRUE(header.ok()) << header.error().sentence();
  EXPECT_EQ(first_failing(*header, {"select(0, 0, {1024}) == 0", "select(0, 0, {1536}) == -1"}), 0);
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

TEST_F(Emit, T4HoldsTheCountersOfAConfiguration) {
  StoredEvaluation read, unread;
  read.knobs = {Value{std::int64_t{128}}};
  unread.knobs = {Value{std::int64_t{256}}};
  read.knob_names = unread.knob_names = {"BLOCK"};
  StoredProfile profile, raw;
  profile.knobs = read.knobs;
  profile.knob_names = raw.knob_names = {"BLOCK"};
  profile.profile.dram = 0.5;
  profile.profile.stall["barrier"] = 0.25;
  const auto json =
      nlohmann::json::parse(emit_t4(spec_, winner(1024, 128, 1.5).key, {read, unread}, {raw, profile}));
  std::map<std::string, double> counters;
  for (const auto& measurement : json["results"][0]["measurements"])
    counters[measurement["name"]] = measurement["value"];
  EXPECT_DOUBLE_EQ(counters.at("counter:Dram"), 0.5);
  EXPECT_DOUBLE_EQ(counters.at("counter:Stall.barrier"), 0.25);
  EXPECT_EQ(json["results"][1]["measurements"].size(), 1u);
}

TEST(CxxExpression, KeepsTheMeaningOfChainsAndMembership) {
  const CxxName name = [](std::string_view text) { return std::optional(std::string(text)); };
  EXPECT_EQ(*cxx_expression(parse("1 < a <= 4"), name), "((1LL < a) && (a <= 4LL))");
  EXPECT_EQ(*cxx_expression(parse("a in [1, 2]"), name), "(((a == 1LL) || (a == 2LL)))");
  EXPECT_EQ(*cxx_expression(parse("min(a, 3, b)"), name), "minimum(minimum(a, 3LL), b)");
}

// Knobs are numbers there.
TEST(CxxExpression, DoesNotAskWhatKnobsDecide) {
  const auto knob = [](std::string_view wanted) -> std::optional<std::string> {
    return wanted == "TILE" ? std::optional<std::string>("64LL") : std::optional(std::string(wanted));
  };
  EXPECT_EQ(*cxx_expression(parse("!(TILE == 32) || n % 32 == 0"), knob), "true");
  EXPECT_EQ(*cxx_expression(parse("!(TILE == 64 && TILE > 8) || n % 64 == 0"), knob),
            "(((n % 64LL) == 0LL))");
  EXPECT_EQ(*cxx_expression(parse("TILE == 32 ? n / 32 : n / 64"), knob), "(n / 64LL)");
  EXPECT_EQ(*cxx_expression(parse("n > 1 && TILE != 64"), knob), "false");
  EXPECT_EQ(*cxx_expression(parse("TILE < 8 || TILE <= 64 && n > TILE"), knob), "((n > 64LL))");
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
