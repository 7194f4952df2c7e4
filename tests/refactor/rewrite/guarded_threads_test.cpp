// Threads that a size of the problem selects: the block size becomes a knob under the condition that each
// element has a thread, and stays as it is where what the size says is not known.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

// A histogram of a row of `d` elements over `n` bins; what stands in front of and behind the count can be
// exchanged.
Facts bins(const std::string& before, const std::string& behind, const std::string& helpers = "") {
  Facts facts =
      plain(kernel("  extern __shared__ int counts[];\n  const unsigned thread = threadIdx.x;\n" + before +
                       "  __syncthreads();\n"
                       "  for (int i = thread; i < d; i += blockDim.x)\n    atomicAdd(&counts[in[i]], 1);\n"
                       "  __syncthreads();\n" +
                       behind,
                   helpers, "int* out, const int* in, int n, int d"),
            {"512"}, {"1"});
  facts.shared = "n * 4";
  return facts;
}
const std::string cleared = "  if (thread < n)\n    counts[thread] = 0;\n";
const std::string written = "  if (n > thread)\n    out[thread] = counts[thread];\n";

TEST(GuardedThreads, EveryElementHasAThreadInBothLaunches) {
  const Facts facts = bins(cleared, written);
  const Outcome outcome = apply_rule("expose-block-size", facts);
  ASSERT_NE(outcome.knob("BLOCK"), nullptr) << outcome.report.detail;
  EXPECT_TRUE(outcome.has_condition("BLOCK == 0 || (n <= BLOCK && n <= 512)"));
  EXPECT_EQ(machine_code(facts.text, "k"), machine_code(outcome.candidate.text, "k<0>"));
  EXPECT_NE(machine_code(outcome.candidate.text, "k<256>").rfind("error", 0), 0u);
}

TEST(GuardedThreads, TheLastOneAndThoseBehindIt) {
  const Outcome outcome =
      apply_rule("expose-block-size",
                 bins(cleared, written + "  if (thread == n)\n    out[thread] = 1;\n"
                                         "  if (thread > n && thread <= n + 3)\n    out[thread] = 2;\n"));
  ASSERT_NE(outcome.knob("BLOCK"), nullptr) << outcome.report.detail;
  EXPECT_TRUE(outcome.has_condition("n + 1 <= BLOCK"));
  EXPECT_TRUE(outcome.has_condition("(n + 3) + 1 <= BLOCK"));
}

TEST(GuardedThreads, WarpsThatASizeSelectsAndWhatTheyLeaveInDynamicSharedMemory) {
  const Outcome outcome = apply_rule(
      "expose-block-size",
      bins(cleared + "  if (thread / 32 < n && thread % 32 == 0)\n    counts[thread / 32] = 1;\n", written));
  ASSERT_NE(outcome.knob("BLOCK"), nullptr) << outcome.report.detail;
  EXPECT_TRUE(outcome.has_condition("n * 32 <= BLOCK"));
  EXPECT_TRUE(outcome.has_condition("BLOCK % 32 == 0"));
  const Outcome left =
      apply_rule("expose-block-size",
                 bins(cleared + "  if (thread % 32 == 0)\n    counts[n + thread / 32] = 1;\n", written));
  EXPECT_TRUE(left.has_condition("BLOCK <= 512")) << left.report.detail;
}

TEST(GuardedThreads, NumbersThatMemoryAndFunctionsGive) {
  const Outcome outcome =
      apply_rule("expose-block-size",
                 bins(cleared,
                      "  const int mine = thread < n ? counts[thread] : 0;\n  const int all = total(mine);\n"
                      "  if (thread < n)\n    out[thread] = mine + all;\n",
                      "__device__ int total(int v) {\n  for (int o = 16; o > 0; o >>= 1)\n"
                      "    v += __shfl_xor_sync(~0u, v, o);\n  return v;\n}\n"));
  EXPECT_NE(outcome.knob("BLOCK"), nullptr) << outcome.report.detail;
}

TEST(GuardedThreads, AConstantOfTheLauncher) {
  Facts facts =
      plain("constexpr int THREADS = 512;\n" +
                kernel("  __shared__ int counts[1024];\n  if (threadIdx.x < n)\n"
                       "    counts[threadIdx.x] = 0;\n  __syncthreads();\n"
                       "  for (int i = threadIdx.x; i < d; i += THREADS)\n    out[i] = counts[in[i]];\n",
                       "", "int* out, const int* in, int n, int d"),
            {"THREADS"}, {"1"});
  facts.block = {"512"};
  const Outcome outcome = apply_rule("expose-constant", facts);
  ASSERT_NE(outcome.knob("THREADS"), nullptr) << outcome.report.detail;
  EXPECT_TRUE(outcome.has_condition("THREADS == 512 || (n <= THREADS && n <= 512)"));
}

class NotGuarded : public ::testing::TestWithParam<Row> {};
TEST_P(NotGuarded, IsRefused) {
  check(GetParam());
}

Row refused(const char* name, const std::string& before, const std::string& behind, const char* reason) {
  return Row{name, "expose-block-size", bins(before, behind), "", reason};
}

INSTANTIATE_TEST_SUITE_P(
    GuardedThreads, NotGuarded,
    ::testing::Values(
        refused("AStoreByEveryThread", cleared, "  out[thread] = counts[thread];\n", "addressed"),
        refused("AStoreBehindTheSize", cleared, "  if (thread >= n)\n    out[thread] = 0;\n", "addressed"),
        refused("AStoreInTheOtherBranch", cleared,
                "  if (thread < n)\n    out[thread] = 1;\n  else\n    out[thread] = 2;\n", "addressed"),
        refused("AChoiceBetweenNumbers", cleared,
                "  const int half = thread < 256 ? 0 : 1;\n  out[half] = counts[0];\n", "addressed"),
        refused("EitherOfTwo", cleared, "  if (thread < n || d == 3)\n    out[thread] = 1;\n", "addressed"),
        refused("ASizeFromMemory", cleared,
                "  const int last = in[0];\n  if (thread < last)\n    out[thread] = 1;\n",
                "does not follow the block size"),
        refused("ASizeThatChanges", cleared,
                "  int left = n;\n  left -= 3;\n  if (thread < left)\n    out[thread] = 1;\n",
                "does not follow the block size"),
        refused("PartsOfAThreadsNumber", cleared, "  if (thread * 2 < n)\n    out[thread] = 1;\n",
                "does not follow the block size")),
    [](const auto& row) { return std::string(row.param.name); });

} // namespace
} // namespace lathe::refactor::testing
