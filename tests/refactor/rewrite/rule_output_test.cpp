// What single rules write, beyond whether they apply.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

TEST(VectorizeElement, WritesOutIndicesAndKeepsTheRawKernelAtTheDefault) {
  const Facts facts = one_a_thread("  if (i >= d) return;\n",
                                   "  const int at = blockIdx.y * d + i;\n  out[at] = in[at] + in[i];");
  const Outcome outcome = apply_rule("vectorize-element", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("&in[(int)(blockIdx.y * d + lathe_first)]")) << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("lathe_out.element[lathe_lane] = lathe_in.element[lathe_lane] + "
                          "lathe_in_2.element[lathe_lane];"))
      << outcome.candidate.text;
  EXPECT_TRUE(machine_code(facts.text, "k") == machine_code(outcome.candidate.text, "k<1>"));
  EXPECT_NE(machine_code(outcome.candidate.text, "k<4>").rfind("error", 0), 0u);
  const auto blocks = [&](std::int64_t vec, std::int64_t n) {
    const auto value = outcome.candidate.launch.grid[0].evaluate_integer(
        [&](std::string_view name) -> std::optional<Value> { return Value{name == "VEC" ? vec : n}; });
    return value.ok() ? *value : -1;
  };
  EXPECT_EQ(blocks(1, 1000), 4);
  EXPECT_EQ(blocks(4, 1000), 1);
}

// Vectors of in[i] and of in[i + 1] are never aligned both: one of them moves, the other is read by itself.
TEST(VectorizeElement, ReadsWhatLiesBesideAnElementByItself) {
  const Outcome ranges =
      apply_rule("vectorize-element",
                 one_a_thread("  if (i >= n) return;\n", "  out[i] = in[i + 1] - in[i] + in[i + 16];"));
  ASSERT_TRUE(ranges.report.applied) << ranges.report.detail;
  EXPECT_TRUE(ranges.has("= in[i + 1] - lathe_in.element[lathe_lane] + lathe_in_2.element[lathe_lane];"))
      << ranges.candidate.text;
  // What is written decides, wherever the others begin.
  const Outcome shifted = apply_rule(
      "vectorize-element", one_a_thread("  if (i >= n) return;\n", "  out[i + 3] = in[i] * in[i + 3];"));
  ASSERT_TRUE(shifted.report.applied) << shifted.report.detail;
  EXPECT_TRUE(shifted.has("lathe_out.element[lathe_lane] = in[i] * lathe_in.element[lathe_lane];"))
      << shifted.candidate.text;
  const Outcome rounds = apply_rule(
      "vectorize-loop", plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x)\n"
                                     "    out[blockIdx.x * d + i] = in[blockIdx.x * d + i] + in[i + 1];")));
  ASSERT_TRUE(rounds.report.applied) << rounds.report.detail;
  EXPECT_TRUE(rounds.has("lathe_in.element[lathe_lane] + in[i + 1];")) << rounds.candidate.text;
}

TEST(VectorizeElement, AsksOfEachNeighbourWhatTheGuardAsks) {
  const Facts facts = one_a_thread("  if (i >= n - 1 || i <= 0) return;\n", "  out[i] = in[i];");
  const Outcome outcome = apply_rule("vectorize-element", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("lathe_whole = lathe_whole && !(i <= 0);")) << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("  if (lathe_whole) {\n      lathe_elements<float, VEC> lathe_out;"))
      << outcome.candidate.text;
  EXPECT_TRUE(machine_code(facts.text, "k") == machine_code(outcome.candidate.text, "k<1>"));
  EXPECT_NE(machine_code(outcome.candidate.text, "k<4>").rfind("error", 0), 0u);
}

TEST(BlockSize, HelpersTakeTheKnobAndReductionsTheirConditions) {
  Facts facts;
  facts.text = reduction;
  facts.instance = "row_sum";
  facts.dtypes.clear();
  const Outcome outcome = apply_rule("expose-block-size", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("template <unsigned BLOCK> __device__ float block_sum")) << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("block_sum<BLOCK>(sum)"));
  EXPECT_TRUE(outcome.has_condition("BLOCK % 32 == 0"));
  // At 0 the text is the raw kernel's: nothing needs to be assumed.
  EXPECT_EQ(outcome.knob("BLOCK")->default_value.text(), "0");
  EXPECT_TRUE(outcome.candidate.raw_preconditions.empty());
}

TEST(BlockSize, ZeroMeansAsTheLauncher) {
  Facts facts;
  facts.text = strided;
  facts.instance = "twice<{T}>";
  facts.block = {"min(d, 1024)"};
  const Outcome outcome = apply_rule("expose-block-size", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.knob("BLOCK")->default_value.text(), "0");
  EXPECT_EQ(outcome.candidate.launch.block[0].text(), "(BLOCK == 0 ? min(d, 1024) : BLOCK)");
  EXPECT_TRUE(outcome.candidate.raw_preconditions.empty());
}

TEST(BlockSize, DynamicSharedMemoryFollowsOrIsRefused) {
  Facts facts;
  facts.text = "__global__ void k(float* out, int d) {\n  extern __shared__ float s[];\n  for (int i = "
               "threadIdx.x; i < d; i += blockDim.x) s[threadIdx.x] = i;\n  out[blockIdx.x] = s[0];\n}\n";
  facts.instance = "k";
  facts.dtypes.clear();
  facts.block = {"min(d, 512)"};
  facts.shared = "min(d, 512) * 4";
  const Outcome follows = apply_rule("expose-block-size", facts);
  ASSERT_TRUE(follows.report.applied) << follows.report.detail;
  EXPECT_NE(follows.candidate.launch.shared_bytes.text().find("BLOCK"), std::string::npos);
  EXPECT_TRUE(follows.has_condition("device.shared_per_block_optin"));
  facts.shared = "2048";
  EXPECT_FALSE(apply_rule("expose-block-size", facts).report.applied);
}

// Where no index has a bound, as many threads in all do the work in blocks of another size.
TEST(BlockSize, TheNumberOfThreadsStays) {
  const Facts facts =
      plain(kernel("  out[blockIdx.x * blockDim.x + threadIdx.x] = in[0];"), {"256"}, {"n / 256"});
  const Outcome outcome = apply_rule("expose-block-size", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.launch.grid[0].text(),
            "(BLOCK == 0 ? n / 256 : (n / 256) * (256) / max(BLOCK, 1))");
  EXPECT_TRUE(outcome.has_condition("(n / 256) * (256) % max(BLOCK, 1) == 0"));
}

TEST(Constants, ThePackTypeMovesWithTheNumberOfElements) {
  Facts facts;
  facts.text = packed;
  facts.instance = "negate<{T}>";
  facts.grid = {"(n / (16 / sizeof_T) + 127) / 128"};
  facts.block = {"128"};
  const Outcome outcome = apply_rule("expose-constant", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_FALSE(outcome.has("uint4*"));
  EXPECT_TRUE(outcome.has("lathe_pack<pack * sizeof(T)> result;"));
  EXPECT_TRUE(outcome.has_condition("pack * sizeof_T <= 32"));
  EXPECT_TRUE(outcome.has_condition("(n) % pack == 0"));
  EXPECT_EQ(outcome.knob("pack")->default_value.text(), "16 / sizeof_T");
}

TEST(CacheHints, StoresTakeTheValueFirstWithWhatIsWrappedInside) {
  const Outcome outcome = apply_rule(
      "cache-hints",
      plain(kernel("  const int i = blockIdx.x * 256 + threadIdx.x;\n  out[(int)in[i]] = -in[i + 1];\n"
                   "  *out = in[i] + 1.0f;")));
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("  lathe_store<STORE_CACHE>(-lathe_load<LOAD_CACHE>(&in[i + 1]), "
                          "&out[(int)lathe_load<LOAD_CACHE>(&in[i])]);\n"))
      << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("  lathe_store<STORE_CACHE>(lathe_load<LOAD_CACHE>(&in[i]) + 1.0f, out);\n"))
      << outcome.candidate.text;
}

// The address of a store depends on the value's own instructions: their order shows in the machine code.
TEST(CacheHints, DefaultsCompileToTheRawKernel) {
  Facts facts = plain(kernel("  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    "
                             "out[i] = in[i] / (1.0f + expf(-in[i])) * in[i + d];"));
  const Outcome outcome = apply_rule("cache-hints", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  const std::string raw = machine_code(facts.text, "k");
  ASSERT_NE(raw.rfind("error", 0), 0u) << raw;
  EXPECT_TRUE(raw == machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32")));
}

TEST(LaunchBounds, BlockSizesExposedLaterFollowTheBoundNotItsDefault) {
  const auto result = rewrite(
      make_candidate(plain(kernel("  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = in[i];"))),
      {"launch-bounds", "expose-block-size"}, ParseOptions{});
  ASSERT_TRUE(result.ok());
  EXPECT_NE(result->candidate.text.find(
                "__launch_bounds__(MIN_BLOCKS == 0 ? 0 : (BLOCK == 0 ? 256 : BLOCK), MIN_BLOCKS)"),
            std::string::npos)
      << result->candidate.text;
}

TEST(LaunchBounds, BoundsInPlaceAreKept) {
  Facts facts;
  facts.text = "__global__ void __launch_bounds__(128) k(float* out) { out[0] = 0; }\n";
  facts.instance = "k";
  facts.dtypes.clear();
  EXPECT_TRUE(apply_rule("launch-bounds", facts).has("__launch_bounds__(128, MIN_BLOCKS)"));
  facts.text = "__global__ void __launch_bounds__(128, 2) k(float* out) { out[0] = 0; }\n";
  const Outcome outcome = apply_rule("launch-bounds", facts);
  EXPECT_TRUE(outcome.has("__launch_bounds__(128, MIN_BLOCKS)"));
  EXPECT_EQ(outcome.knob("MIN_BLOCKS")->default_value.text(), "2");
}

} // namespace
} // namespace lathe::refactor::testing
