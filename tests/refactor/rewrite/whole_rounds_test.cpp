// Rounds that are counted by a quotient: what covers the work stays whole under every block size and width.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

// Everything about the work is known to the compiler; no index is compared with a bound.
const char* const row_sums = R"(
template <int THREADS, int VEC, int WIDTH> __global__ __launch_bounds__(128) void row_sums(float* out, const float* in) {
  constexpr int per_round = VEC * THREADS;
  constexpr int rounds = WIDTH / per_round;
  __shared__ float sums[THREADS / 32];
  const float* row = in + blockIdx.x * WIDTH;
  float sum = 0;
  for (int round = 0; round < rounds; ++round) {
    const int first = round * per_round + threadIdx.x * VEC;
    for (int j = 0; j < VEC; ++j) sum += row[first + j];
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (int w = 0; w < THREADS / 32; ++w) all += sums[w];
    out[blockIdx.x] = all;
  }
}
)";

Facts row_facts(const std::string& text = row_sums) {
  Facts facts = plain(text, {"128"}, {"rows"});
  facts.instance = "row_sums<128, 4, 4096>";
  facts.dimensions = {"rows"};
  return facts;
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(WholeRounds, ThreadsAndWidthOfATemplateWithoutBounds) {
  const Outcome outcome = apply_rule("adopt-template-parameter", row_facts());
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  ASSERT_NE(outcome.knob("THREADS"), nullptr) << outcome.report.detail;
  ASSERT_NE(outcome.knob("VEC"), nullptr) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.instance, "row_sums<{THREADS}, {VEC}, 4096>");
  EXPECT_TRUE(outcome.has_condition("4096)) % ((VEC * THREADS)) == 0"));
  EXPECT_NE(outcome.candidate.text.find("__launch_bounds__(THREADS)"), std::string::npos);
  EXPECT_EQ(machine_code(row_sums, "row_sums<128, 4, 4096>"),
            machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32")));
}

// Where the block is not the constant's, the width alone becomes a knob, under the same condition.
TEST(WholeRounds, AWidthAloneLeavesNothingOverEither) {
  Facts facts = row_facts();
  facts.block = {"2 * 64 + 0 * rows"};
  const Outcome outcome = apply_rule("adopt-template-parameter", facts);
  ASSERT_NE(outcome.knob("VEC"), nullptr) << outcome.report.detail;
  EXPECT_EQ(outcome.knob("THREADS"), nullptr);
  EXPECT_TRUE(outcome.has_condition("4096)) % ((VEC * (128))) == 0"));
}

// A row's begin is a multiple of the width where the width of a row is: how many rows a block has is no
// matter.
TEST(WholeRounds, ConstantsBesideAWidthNeedNotBeMultiples) {
  const char* const text = R"(
template <int ROWS, int VEC> __global__ void copy_rows(float* out, const float* in, int d) {
  const int row = blockIdx.x * ROWS + threadIdx.x / 32;
  for (int i = threadIdx.x % 32; i < d / VEC; i += 32)
    for (int j = 0; j < VEC; ++j) out[row * d + i * VEC + j] = in[row * d + i * VEC + j];
}
)";
  Facts facts = plain(text, {"96"}, {"n / 3"});
  facts.instance = "copy_rows<3, 4>";
  const Outcome outcome = apply_rule("adopt-template-parameter", facts);
  ASSERT_NE(outcome.knob("VEC"), nullptr) << outcome.report.detail;
  EXPECT_TRUE(outcome.has_condition("(d) % VEC == 0"));
  EXPECT_FALSE(outcome.has_condition("(3) % VEC"));
}

TEST(WholeRounds, NamedConstantsInPlaceOfTemplateParameters) {
  std::string text =
      changed(row_sums, "template <int THREADS, int VEC, int WIDTH> ",
              "constexpr int THREADS = 128;\nconstexpr int VEC = 4;\nconstexpr int WIDTH = 4096;\n");
  Facts facts = row_facts(text);
  facts.instance = "row_sums";
  const Outcome outcome = apply_rule("expose-constant", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  ASSERT_NE(outcome.knob("THREADS"), nullptr) << outcome.report.detail;
  EXPECT_TRUE(outcome.has_condition("% ((VEC * THREADS)) == 0"));
}

TEST(WholeRounds, AnotherStrideThanTheRoundsIsRefused) {
  const Outcome outcome = apply_rule("adopt-template-parameter",
                                     row_facts(changed(row_sums, "WIDTH / per_round", "WIDTH / 512")));
  EXPECT_EQ(outcome.knob("THREADS"), nullptr) << outcome.report.detail;
}

TEST(WholeRounds, RoundsOfAnArgumentAreRefused) {
  std::string text = changed(row_sums, "const float* in)", "const float* in, int width)");
  text = changed(text, "constexpr int rounds = WIDTH / per_round", "const int rounds = width / per_round");
  const Outcome outcome = apply_rule("adopt-template-parameter", row_facts(text));
  EXPECT_EQ(outcome.knob("THREADS"), nullptr) << outcome.report.detail;
}

TEST(WholeRounds, LaunchBoundsThatFollowAKnobLimitNothing) {
  const auto both = rewrite(make_candidate(row_facts()), {"adopt-template-parameter", "launch-bounds"}, {});
  ASSERT_TRUE(both.ok()) << both.error().sentence();
  const Outcome outcome{{}, both->candidate};
  ASSERT_NE(outcome.knob("THREADS"), nullptr);
  ASSERT_NE(outcome.knob("MIN_BLOCKS"), nullptr);
  EXPECT_FALSE(outcome.has_condition("<= 128"));
}

} // namespace
} // namespace lathe::refactor::testing
