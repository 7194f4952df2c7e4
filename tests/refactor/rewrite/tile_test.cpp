// Macros that become constants, tiles that become knobs, and blocks that do the work of several: what is
// taken, what is refused, and that the default stays the raw kernel's machine code.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

const char* const matrix_product = R"(
template <int TILE> __global__ void product(float* c, const float* a, const float* b, int k, int n) {
  __shared__ float as[TILE][TILE];
  __shared__ float bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < k; i += TILE) {
    as[threadIdx.y][threadIdx.x] = a[row * k + i + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(i + threadIdx.y) * n + column];
    __syncthreads();
    for (int j = 0; j < TILE; ++j) sum += as[threadIdx.y][j] * bs[j][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
)";

Facts product_facts(const std::string& text = matrix_product) {
  Facts facts = plain(text, {"16", "16"}, {"n / 16", "(m + 15) / 16"});
  facts.instance = "product<16>";
  facts.dimensions = {"m", "n", "k"};
  return facts;
}

TEST(Tile, TemplateParameterOfAMatrixProduct) {
  const Outcome outcome = apply_rule("adopt-tile", product_facts());
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  ASSERT_NE(outcome.knob("TILE"), nullptr);
  EXPECT_EQ(outcome.candidate.instance, "product<{TILE}>");
  EXPECT_EQ(outcome.candidate.launch.block[0].text(), "TILE");
  EXPECT_EQ(outcome.candidate.launch.block[1].text(), "TILE");
  EXPECT_EQ(outcome.candidate.launch.grid[0].text(), "(n) / TILE");
  EXPECT_EQ(outcome.candidate.launch.grid[1].text(), "ceil_div(m, TILE)");
  EXPECT_TRUE(outcome.has_condition("(n) % TILE == 0"));
  EXPECT_TRUE(outcome.has_condition("(k)) % (1 * (TILE)) == 0")); // whole steps of the loop
  EXPECT_TRUE(outcome.has_condition("<= 49152"));
  EXPECT_TRUE(outcome.has_condition("device.max_threads_per_block"));
  EXPECT_EQ(machine_code(matrix_product, "product<16>"),
            machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32")));
  const std::string other =
      machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32", {{"TILE", 32}}));
  EXPECT_NE(other.rfind("error", 0), 0u) << other;
}

// A specification knows no constants of the text.
TEST(Tile, ConditionsHaveTheValuesOfOtherConstants) {
  const std::string text =
      "constexpr int PARTS = 7;\n"
      "template <int TILE> __global__ void k(float* out, const float* in, int n) {\n"
      "  __shared__ float parts[TILE * PARTS];\n  float sum = 0;\n"
      "  for (int base = 0; base < n; base += TILE) {\n"
      "    if (threadIdx.x < TILE)\n      for (int p = 0; p < PARTS; ++p)\n"
      "        parts[threadIdx.x * PARTS + p] = in[(base + threadIdx.x) * PARTS + p];\n"
      "    __syncthreads();\n"
      "    for (int i = 0; i < TILE; ++i) sum += parts[i * PARTS];\n    __syncthreads();\n  }\n"
      "  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;\n}\n";
  Facts facts = plain(text, {"256"}, {"n / 256"});
  facts.instance = "k<128>";
  facts.dimensions = {"n"};
  const Outcome outcome = apply_rule("adopt-tile", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  ASSERT_NE(outcome.knob("TILE"), nullptr);
  for (const Condition& condition : outcome.candidate.conditions)
    for (const std::string& name : condition.expression.names())
      EXPECT_NE(name, "PARTS") << condition.expression.text();
  EXPECT_TRUE(outcome.has_condition("(7)"));
}

TEST(Tile, NumberThatMayMeanTheSameIsRefused) {
  std::string text = matrix_product;
  const std::size_t at = text.find("j < TILE");
  text.replace(at, 8, "j < 16");
  const Outcome outcome = apply_rule("adopt-tile", product_facts(text));
  EXPECT_FALSE(outcome.report.applied);
  EXPECT_NE(outcome.report.detail.find("may mean the same"), std::string::npos) << outcome.report.detail;
}

TEST(Tile, GridThatDoesNotFollowIsRefused) {
  Facts facts = product_facts();
  facts.grid = {"n", "(m + 15) / 16"};
  const Outcome outcome = apply_rule("adopt-tile", facts);
  EXPECT_FALSE(outcome.report.applied);
  EXPECT_NE(outcome.report.detail.find("does not divide by it"), std::string::npos) << outcome.report.detail;
}

TEST(Tile, ProductOfTwoConstantsFollowsInTheGrid) {
  Facts facts = plain(R"(
constexpr int THREADS = 128;
template <int ITEMS> __global__ void k(float* x, int n) {
  int first = blockIdx.x * THREADS * ITEMS;
  for (int i = threadIdx.x; i < THREADS * ITEMS; i += THREADS)
    if (first + i < n) x[first + i] = 2 * x[first + i];
}
)",
                      {"128"}, {"(n + 511) / 512"});
  facts.instance = "k<4>";
  auto both = rewrite(make_candidate(facts), {"adopt-tile", "expose-tile"}, ParseOptions{});
  ASSERT_TRUE(both.ok());
  EXPECT_TRUE(both->reports[0].applied) << both->reports[0].detail;
  EXPECT_TRUE(both->reports[1].applied) << both->reports[1].detail;
  EXPECT_EQ(both->candidate.launch.grid[0].text(), "ceil_div(n, (THREADS * ITEMS))");
  EXPECT_EQ(both->candidate.launch.block[0].text(), "THREADS");
}

const char* const transpose = R"(
#define TILE 32 // columns
#define STEP 8
__global__ void k(float* out, const float* in, int width, int height) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += STEP)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  int u = blockIdx.y * TILE + threadIdx.x, v = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += STEP)
    if (u < height && v + j < width) out[(v + j) * height + u] = tile[threadIdx.x][threadIdx.y + j];
}
)";

TEST(Tile, MacrosOfATransposition) {
  Facts facts = plain(transpose, {"32", "8"}, {"(width + 31) / 32", "(height + 31) / 32"});
  facts.dimensions = {"width", "height"};
  auto result =
      rewrite(make_candidate(facts), {"name-macros", "expose-constant", "expose-tile"}, ParseOptions{});
  ASSERT_TRUE(result.ok());
  const Candidate& candidate = result->candidate;
  // A tile is no vector, though it scales indices and counts elements.
  EXPECT_FALSE(result->reports[1].applied) << result->reports[1].detail;
  ASSERT_TRUE(result->reports[2].applied) << result->reports[2].detail;
  EXPECT_EQ(candidate.knobs.size(), 2u);
  EXPECT_EQ(candidate.launch.block[0].text(), "TILE");
  EXPECT_EQ(candidate.launch.block[1].text(), "STEP");
  EXPECT_EQ(candidate.launch.grid[1].text(), "ceil_div(height, TILE)");
  bool whole_steps = false;
  for (const Condition& condition : candidate.conditions)
    whole_steps |= condition.expression.text() == "(1 * (TILE)) % (1 * (STEP)) == 0";
  EXPECT_TRUE(whole_steps);
}

TEST(Macros, NumbersBecomeConstantsInPlace) {
  const Outcome outcome = apply_rule("name-macros", plain(transpose));
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("constexpr int TILE = 32; // columns"));
  const Outcome derived = apply_rule(
      "name-macros", plain(kernel("  out[0] = in[0] * HALF;", "#define N 4u\n#define HALF (N / 2)\n")));
  EXPECT_TRUE(derived.has("constexpr auto N = 4u;")) << derived.candidate.text;
  EXPECT_TRUE(derived.has("constexpr auto HALF = (N / 2);")) << derived.candidate.text;
  EXPECT_EQ(machine_code(transpose, "k"), machine_code(outcome.candidate.text, "k"));
}

// The other rules cannot change what stands in a macro; the compiler sees the same tokens either way.
TEST(Macros, ThreadsAndLoopsAreWrittenOutWhereTheyAreUsed) {
  const std::string loop = "#define WIDTH 64\n#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)\n"
                           "#define EACH(i, n) \\\n  for (int i = threadIdx.x; \\\n"
                           "       i < (n); i += WIDTH)\n";
  const std::string raw =
      kernel("  if (THREAD == 0) out[0] = 1;\n  EACH(i, d) out[i] = in[i] + WIDTH;", loop);
  const Outcome outcome = apply_rule("name-macros", plain(raw, {"64"}));
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.report.detail, "WIDTH named as constants, THREAD written out, EACH written out");
  EXPECT_TRUE(outcome.has("if ((blockIdx.x * blockDim.x + threadIdx.x) == 0)")) << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("for (int i = threadIdx.x; i < (d); i += WIDTH) out[i]")) << outcome.candidate.text;
  EXPECT_FALSE(outcome.has("#define")) << outcome.candidate.text;
  EXPECT_EQ(machine_code(raw, "k"), machine_code(outcome.candidate.text, "k"));
  // So that a loop has its knobs.
  auto composed =
      rewrite(make_candidate(plain(raw, {"64"})), {"name-macros", "expose-unroll"}, ParseOptions{});
  ASSERT_TRUE(composed.ok()) << composed.error().sentence();
  EXPECT_TRUE(composed->reports[1].applied) << composed->reports[1].detail;
}

TEST(Macros, WhatIsNotWrittenOut) {
  const auto detail = [](const std::string& body, const std::string& before) {
    return apply_rule("name-macros", plain(kernel(body, before))).report.detail;
  };
  const std::string nothing = "no macro is a whole number";
  EXPECT_EQ(detail("  out[0] = HALF(in[0]);", "#define HALF(x) ((x) * 0.5f)\n"), nothing);
  EXPECT_EQ(detail("  TURN for (int i = 0; i < n; ++i) out[i] = threadIdx.x;",
                   "#define TURN asm volatile(\"\"); __syncthreads(); for (int u = 0; u < 2; ++u)\n"),
            nothing);
  EXPECT_EQ(detail("  EACH out[i] = 1;", "#define EACH _Pragma(\"unroll\") for (int i = 0; i < 4; ++i)\n"),
            nothing);
  EXPECT_EQ(detail("  assert(blockDim.x == 64);\n  out[threadIdx.x] = 1;", "#include <cassert>\n"), nothing);
  // A definition that something else uses stays.
  const Outcome both = apply_rule(
      "name-macros", plain(kernel("  out[ROW] = in[OTHER];",
                                  "#define ROW (blockIdx.x)\n#define OTHER (ROW + threadIdx.y)\n")));
  EXPECT_TRUE(both.has("#define ROW")) << both.candidate.text;
  EXPECT_TRUE(both.has("out[(blockIdx.x)] = in[((blockIdx.x) + threadIdx.y)]")) << both.candidate.text;
  // Signs of different macros stay two tokens.
  const Outcome signs = apply_rule(
      "name-macros", plain(kernel("  out[0] = in[0] + LESS(-n);", "#define LESS(v) -v-blockIdx.x\n")));
  EXPECT_TRUE(signs.has("- -n")) << signs.candidate.text;
}

TEST(Macros, WhatThePreprocessorNeedsStays) {
  const auto refusal = [](const std::string& before) {
    return apply_rule("name-macros", plain(kernel("  out[0] = in[0] * N;", before))).report.detail;
  };
  EXPECT_NE(refusal("#define N 4\n#if N > 2\n#endif\n").find("asked for by #if"), std::string::npos);
  EXPECT_NE(refusal("#define N 4\n#undef N\n#define N 8\n").find("defined more than once"),
            std::string::npos);
  EXPECT_NE(refusal("#define N 4\n#define NAME(x) x##N\n").find("pasted"), std::string::npos);
  EXPECT_NE(refusal("#define N 0.5f\n").find("no macro is a whole number"), std::string::npos);
  // Clang's own headers have it: `constexpr int 13000 = 13000;` would be what is parsed.
  EXPECT_NE(refusal("#include <cuda.h>\n#define CUDA_VERSION 13000\n#define N (CUDA_VERSION * 1.f)\n")
                .find("defined by a header, too"),
            std::string::npos);
}

TEST(Rows, LastBlocksMayReachBeyondTheEndWhereABoundKeepsThemOut) {
  const std::string body = "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                           "  if (i >= n) return;\n  out[i] = in[i];";
  const Outcome outcome = apply_rule("rows-per-block", plain(kernel(body), {"256"}, {"(n + 255) / 256"}));
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.launch.grid[0].text().rfind("ceil_div(", 0), 0u);
  EXPECT_TRUE(outcome.has_condition(" || (")) << "blocks beyond the end are admitted";
  // A load before the bound would reach beyond the buffer.
  const std::string early = "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  float x = in[i];\n"
                            "  if (i >= n) return;\n  out[i] = x;";
  const Outcome strict = apply_rule("rows-per-block", plain(kernel(early), {"256"}, {"(n + 255) / 256"}));
  ASSERT_TRUE(strict.report.applied);
  EXPECT_EQ(strict.candidate.launch.grid[0].text().find("ceil_div("), std::string::npos);
  EXPECT_FALSE(strict.has_condition("||"));
}

TEST(Rows, WholeBlocksMayReturnEarlyThoughThreadsCommunicate) {
  const std::string rest =
      "  __shared__ float s[256];\n  s[threadIdx.x] = in[blockIdx.x * d + threadIdx.x];\n"
      "  __syncthreads();\n  out[blockIdx.x * d + threadIdx.x] = s[0];";
  const Outcome block = apply_rule(
      "rows-per-block", plain(kernel("  const int row = blockIdx.x;\n  if (row >= n) return;\n" + rest)));
  EXPECT_TRUE(block.report.applied) << block.report.detail;
  const Outcome thread = apply_rule(
      "rows-per-block", plain(kernel("  const int i = threadIdx.x;\n  if (i >= d) return;\n" + rest)));
  EXPECT_FALSE(thread.report.applied);
  EXPECT_NE(thread.report.detail.find("return early"), std::string::npos);
}

class MoreBlockSizes : public ::testing::TestWithParam<Row> {};

TEST_P(MoreBlockSizes, TakesOrRefuses) {
  check(GetParam());
}

Facts with_shared(Facts facts, const std::string& bytes) {
  facts.shared = bytes;
  return facts;
}

INSTANTIATE_TEST_SUITE_P(
    BlockSize, MoreBlockSizes,
    ::testing::Values(
        Row{"WarpARow", "expose-block-size",
            plain(kernel(
                      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  int row = i / 32, lane = i % 32;\n"
                      "  if (row >= n) return;\n  out[row * 32 + lane] = in[row * 32 + lane];"),
                  {"256"}, {"(n + 7) / 8"}),
            "BLOCK", ""},
        Row{"DataReadByBlockSizeIsData", "expose-block-size",
            with_shared(plain(kernel(
                            "  extern __shared__ float s[];\n  float v = 0;\n  for (int i = threadIdx.x; i < "
                            "d; i += blockDim.x) v += in[i];\n  s[threadIdx.x + blockDim.x] = v;\n  "
                            "__syncthreads();\n  float mean = s[blockDim.x] / d;\n  if (threadIdx.x == 0) "
                            "out[blockIdx.x] = mean;")),
                        "2048"),
            "BLOCK", ""},
        Row{"SeveralRoundsAStep", "expose-block-size",
            plain(kernel("  float sum = 0;\n  for (int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x; i < "
                         "n; i += "
                         "blockDim.x * 2 * gridDim.x) {\n    sum += in[i];\n    if (i + blockDim.x < n) sum "
                         "+= in[i + "
                         "blockDim.x];\n  }\n  atomicAdd(out, sum);"),
                  {"256"}, {"132"}),
            "BLOCK", ""},
        Row{"PartialResultsOfBlocks", "expose-block-size",
            plain(
                kernel("  float sum = 0;\n  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += "
                       "blockDim.x * gridDim.x)\n    sum += in[i];\n  out[blockIdx.x] = sum;"),
                {"256"}, {"132"}),
            "", "each block leaves a result of its own"},
        Row{"BeyondItsRounds", "expose-block-size",
            plain(kernel("  float sum = 0;\n  for (int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x; i < "
                         "n; i += "
                         "blockDim.x * 2 * gridDim.x)\n    sum += in[i + 2 * blockDim.x];\n  atomicAdd(out, "
                         "sum);"),
                  {"256"}, {"132"}),
            "", "depends on the block size"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(BlockSize, SharedBytesThatAreANumberGrowWithTheBlock) {
  const Outcome outcome = apply_rule(
      "expose-block-size",
      with_shared(
          plain(kernel("  extern __shared__ float s[];\n  for (int i = threadIdx.x; i < d; i += blockDim.x) "
                       "s[threadIdx.x] = in[i];\n  __syncthreads();\n  if (threadIdx.x == 0) out[blockIdx.x] "
                       "= s[0];")),
          "1024"));
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  const auto bytes = [&](std::int64_t threads) {
    return outcome.candidate.launch.shared_bytes
        .evaluate_integer([&](std::string_view) -> std::optional<Value> { return threads; })
        .value();
  };
  EXPECT_EQ(bytes(0), 1024);
  EXPECT_EQ(bytes(64), 1024);
  EXPECT_EQ(bytes(512), 2048);
}

Facts rows_of_warps(const std::string& block) {
  Facts facts =
      plain("template <int WARPS> __global__ void k(float* out, const float* in, int n, int d) {\n"
            "  const int row = blockIdx.y * WARPS + threadIdx.x / 32;\n"
            "  if (row >= n) return;\n"
            "  for (int i = threadIdx.x % 32; i < d; i += 32) out[row * d + i] = in[row * d + i];\n}\n",
            {block}, {"1", "(n + 4 - 1) / 4"});
  facts.instance = "k<4>";
  return facts;
}

TEST(Tile, ABlockHasAWarpForEachRow) {
  const Outcome outcome = apply_rule("adopt-tile", rows_of_warps("128"));
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.launch.block[0].text(), "WARPS * 32");
  EXPECT_EQ(outcome.candidate.launch.grid[1].text(), "ceil_div(n, WARPS)");
  EXPECT_TRUE(outcome.has_condition("<= device.max_threads_per_block"));
}

TEST(Tile, ABlockThatDoesNotShowItsWarpsIsLeftAlone) {
  const Outcome outcome = apply_rule("adopt-tile", rows_of_warps("256"));
  EXPECT_FALSE(outcome.report.applied);
  EXPECT_NE(outcome.report.detail.find("does not have a group of 32 for each step of it"), std::string::npos)
      << outcome.report.detail;
}

TEST(BlockSize, BranchesThatItDecidesStay) {
  Facts facts = plain("template <int THREADS> __global__ void k(float* out, const float* in, int d) {\n"
                      "  for (int i = threadIdx.x; i < d; i += THREADS) out[i] = in[i];\n"
                      "  if (THREADS > 32) __syncthreads();\n}\n",
                      {"128"});
  facts.instance = "k<128>";
  const Outcome outcome = apply_rule("adopt-template-parameter", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has_condition("THREADS > 32"));
}

} // namespace
} // namespace lathe::refactor::testing
