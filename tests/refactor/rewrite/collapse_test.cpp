// Nested loops that become one: which nests are taken and what the loop of both looks like, what holds others
// back, and that the default stays the raw kernel's machine code.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

const char* const restricted = "float* __restrict__ out, const float* __restrict__ in, const float* "
                               "__restrict__ w, int n, int d, int rows";
const char* const may_be_one = "float* out, const float* in, const float* w, int n, int d, int rows";
const char* const of_block = "for (int i = threadIdx.x; i < rows; i += blockDim.x)";

Facts facts_of(const std::string& body, const char* parameters = restricted, const std::string& before = "") {
  Facts facts = plain(kernel(body, before, parameters));
  facts.dimensions = {"n", "d", "rows"};
  return facts;
}

// Each thread scales whole rows of the block's tile.
std::string
tile(const std::string& round = "      out[begin + i * d + j] = scale * in[begin + i * d + j];\n",
     const std::string& row = "    const float scale = w[i];\n",
     const std::string& before = "  const long long begin = (long long)blockIdx.x * rows * d;\n") {
  return before + "  " + of_block + " {\n" + row + "    for (int j = 0; j < d; ++j) {\n" + round +
         "    }\n  }\n";
}

void same_at_zero_and_another_at_two(const Facts& facts, const Outcome& outcome) {
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  const std::string raw = machine_code(facts.text, "k");
  ASSERT_NE(raw.rfind("error", 0), 0u) << raw;
  const bool is_wide = outcome.knob("COLLAPSE_VEC") != nullptr;
  EXPECT_EQ(raw, machine_code(outcome.candidate.text, is_wide ? "k<0, 1>" : "k<0>"));
  const std::string collapsed = machine_code(outcome.candidate.text, is_wide ? "k<2, 1>" : "k<2>");
  EXPECT_NE(collapsed.rfind("error", 0), 0u) << collapsed;
  EXPECT_NE(collapsed, raw);
  if (!is_wide)
    return;
  const std::string wide = machine_code(outcome.candidate.text, "k<2, 4>");
  EXPECT_NE(wide.rfind("error", 0), 0u) << wide;
  EXPECT_NE(wide, collapsed);
}

TEST(CollapseLoops, ShareTheElementsOfRowsInPlaceOfRows) {
  const Facts facts = facts_of(tile());
  const Outcome outcome = apply_rule("collapse-loops", facts);
  same_at_zero_and_another_at_two(facts, outcome);
  ASSERT_NE(outcome.knob("COLLAPSE"), nullptr);
  EXPECT_EQ(outcome.knob("COLLAPSE")->kind, KnobKind::coarsen);
  EXPECT_TRUE(outcome.has("  if constexpr (COLLAPSE != 0) {\n"
                          "    const unsigned long long lathe_rounds = rows > 0 && d > 0 ? "
                          "static_cast<unsigned long long>(rows) * static_cast<unsigned long long>(d) : 0;\n"
                          "    unsigned long long lathe_done_of_rows = 0;\n"))
      << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("#pragma unroll (COLLAPSE == 0 ? 1 : COLLAPSE)\n"
                          "    for (unsigned long long lathe_round = lathe_done_of_rows + threadIdx.x; "
                          "lathe_round < lathe_rounds; lathe_round += blockDim.x) {\n"
                          "      const int i = lathe_round / d;\n"
                          "      const float scale = w[i];\n"
                          "      const int j = lathe_round % d;\n"))
      << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("  } else {\n  for (int i = threadIdx.x; i < rows; i += blockDim.x) {\n"));
}

TEST(CollapseLoops, CountInThirtyTwoBitsWhereTheKernelsOwnIndexDoes) {
  const Facts facts = facts_of(tile("      out[i * d + j] = in[j * rows + i];\n", "", ""));
  const Outcome outcome = apply_rule("collapse-loops", facts);
  same_at_zero_and_another_at_two(facts, outcome);
  EXPECT_TRUE(outcome.has("const unsigned lathe_rounds =")) << outcome.candidate.text;
}

TEST(CollapseLoops, CountInSixtyFourWhereNotEveryRoundStores) {
  const Facts facts = facts_of(tile("      if (j > 3)\n        out[i * d + j] = in[j];\n", "", ""));
  const Outcome outcome = apply_rule("collapse-loops", facts);
  same_at_zero_and_another_at_two(facts, outcome);
  EXPECT_TRUE(outcome.has("const unsigned long long lathe_rounds =")) << outcome.candidate.text;
}

TEST(CollapseLoops, BetweenBarriersIntoSharedMemory) {
  const Facts facts = facts_of(
      "  extern __shared__ float memory[];\n  float* weights = memory;\n  float* tile = weights + d;\n"
      "  for (int t = 0; t < n; ++t) {\n"
      "    for (int j = threadIdx.x; j < d; j += blockDim.x)\n      weights[j] = w[t * d + j];\n"
      "    __syncthreads();\n"
      "    for (int i = threadIdx.x; i < rows; i += blockDim.x)\n"
      "#pragma unroll 2\n"
      "      for (int j = 0; j < d; ++j)\n"
      "        tile[i * (d + 1) + j] = weights[j] * __ldg(in + (t * rows + i) * d + j);\n"
      "    __syncthreads();\n"
      "    for (int j = threadIdx.x; j < d; j += blockDim.x)\n      out[t * d + j] = tile[j * (d + 1)];\n"
      "    __syncthreads();\n  }\n");
  const Outcome outcome = apply_rule("collapse-loops", facts);
  same_at_zero_and_another_at_two(facts, outcome);
}

TEST(CollapseLoops, RowsOfArraysAndPointersToRows) {
  const Facts facts =
      facts_of("  __shared__ float tile[64][33];\n"
               "  for (int i = threadIdx.x; i < 64; i += blockDim.x) {\n"
               "    const float* row = in + blockIdx.x * d + i * 32;\n"
               "    for (int j = 0; j < 32; ++j)\n      tile[i][j] = row[j];\n  }\n"
               "  __syncthreads();\n"
               "  out[blockIdx.x * 256 + threadIdx.x] = tile[threadIdx.x % 64][threadIdx.x / 64];\n");
  const Outcome outcome = apply_rule("collapse-loops", facts);
  same_at_zero_and_another_at_two(facts, outcome);
}

TEST(CollapseLoops, OfTheWholeGrid) {
  const Facts facts = facts_of(
      "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x)\n"
      "    for (int j = 0; j < d; ++j)\n      out[i * d + j] = in[i * d + j] * w[j];\n");
  const Outcome outcome = apply_rule("collapse-loops", facts);
  same_at_zero_and_another_at_two(facts, outcome);
}

TEST(CollapseLoops, InPlaceOnBuffersThatMayBeOne) {
  const Facts facts = facts_of(tile("      out[i * d + j] = 2.0f * in[i * d + j];\n", "", ""), may_be_one);
  const Outcome outcome = apply_rule("collapse-loops", facts);
  same_at_zero_and_another_at_two(facts, outcome);
}

// What neighbouring columns move at once, and what stays an element at a time.
TEST(CollapseLoops, TakeNeighboursOfARowAtOnceWhereRowsAreWholeAndAligned) {
  const Facts facts = facts_of(tile());
  const Outcome outcome = apply_rule("collapse-loops", facts);
  same_at_zero_and_another_at_two(facts, outcome);
  ASSERT_NE(outcome.knob("COLLAPSE_VEC"), nullptr);
  EXPECT_EQ(outcome.knob("COLLAPSE_VEC")->kind, KnobKind::vector);
  ASSERT_EQ(outcome.candidate.conditions.size(), 1u);
  EXPECT_EQ(outcome.candidate.conditions[0].expression.text(), "COLLAPSE_VEC == 1 || COLLAPSE != 0");
  // Alignment is asked of two rows; the scale, which no address needs, is not loaded for that.
  EXPECT_TRUE(outcome.has(
      "      bool lathe_whole = d % COLLAPSE_VEC == 0;\n"
      "      for (int i = 0; i < 2 && i < rows; ++i) {\n"
      "        lathe_whole = lathe_whole && lathe_aligned<COLLAPSE_VEC>(&out[begin + i * d + 0]) && "
      "lathe_aligned<COLLAPSE_VEC>(&in[begin + i * d + 0]);\n"
      "      }\n"))
      << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("lathe_out_of_rows.element[lathe_lane_of_rows] = scale * "
                          "lathe_in_of_rows.element[lathe_lane_of_rows];"))
      << outcome.candidate.text;
}

TEST(CollapseLoops, AskAlignmentOfPointersToRowsWhereTheyAreDeclared) {
  const Facts facts =
      facts_of(tile("      out[i * d + j] = scale * row[j];\n",
                    "    const float scale = w[i];\n    const float* row = in + i * n;\n", ""));
  const Outcome outcome = apply_rule("collapse-loops", facts);
  same_at_zero_and_another_at_two(facts, outcome);
  EXPECT_TRUE(outcome.has("i < rows; ++i) {\n        const float* row = in + i * n;\n"))
      << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("lathe_aligned<COLLAPSE_VEC>(&row[0])")) << outcome.candidate.text;
}

TEST(CollapseLoops, CountTheWidthOfAGridInSixtyFourBits) {
  const Facts facts = facts_of(
      "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x)\n"
      "    for (int j = 0; j < d; ++j)\n      out[i * d + j] = in[i * d + j] * w[j];\n");
  const Outcome outcome = apply_rule("collapse-loops", facts);
  same_at_zero_and_another_at_two(facts, outcome);
  EXPECT_TRUE(
      outcome.has("for (unsigned long long lathe_round = static_cast<unsigned long long>(blockIdx.x * "
                  "blockDim.x + threadIdx.x) * COLLAPSE_VEC;"))
      << outcome.candidate.text;
}

struct Single {
  const char* name;
  Facts facts;
  const char* stays; // an access that is not moved
};
class OneAtATime : public ::testing::TestWithParam<Single> {};
TEST_P(OneAtATime, Stays) {
  const Outcome outcome = apply_rule("collapse-loops", GetParam().facts);
  same_at_zero_and_another_at_two(GetParam().facts, outcome);
  EXPECT_FALSE(outcome.has(std::string("lathe_aligned<COLLAPSE_VEC>(&") + GetParam().stays))
      << outcome.candidate.text;
}
INSTANTIATE_TEST_SUITE_P(
    CollapseLoops, OneAtATime,
    ::testing::Values(
        Single{"WhatMayBeTheSameBuffer",
               facts_of(tile("      out[i * d + j] = 2.0f * in[i * d + j];\n", "", ""), may_be_one), "in["},
        Single{"WhatMayBeStored",
               facts_of(tile("      out[i * d + j] = 2.0f * in[i * d + j];\n", "", ""), may_be_one), "out["},
        Single{"EveryOtherColumn", facts_of(tile("      out[i * d + j] = in[i * d + 2 * j];\n", "", "")),
               "in["},
        Single{"ColumnsOfColumns", facts_of(tile("      out[i * d + j] = in[j * rows + i];\n", "", "")),
               "in["},
        Single{"BehindACondition",
               facts_of(tile("      out[i * d + j] = j > 3 ? in[i * d + j] : 0.0f;\n", "", "")), "in["},
        Single{"RowsFromMemory", facts_of(tile("      out[i * d + j] = in[(int)w[i] * d + j];\n", "", "")),
               "in["},
        Single{"RowsThatMoveApart", facts_of(tile("      out[i * d + j] = in[i * i * d + j];\n", "", "")),
               "in["},
        Single{"WhatIsStoredTwice",
               facts_of(tile(
                   "      out[i * d + j] = 1.0f;\n      if (in[j] > 0)\n        out[i * d + j] = in[j];\n",
                   "", "")),
               "out["}),
    [](const auto& single) { return std::string(single.param.name); });

class NotCollapsed : public ::testing::TestWithParam<Row> {};
TEST_P(NotCollapsed, IsRefused) {
  check(GetParam());
}

Row refused(const char* name, const std::string& body, const char* reason,
            const char* parameters = restricted, const std::string& before = "") {
  return Row{name, "collapse-loops", facts_of(body, parameters, before), "", reason};
}

const char* const staged = "  __shared__ float tile[4096];\n  const int lane = threadIdx.x % 32;\n";
const std::string into_tile = "      tile[i * d + j] = in[i * d + j];\n";

INSTANTIATE_TEST_SUITE_P(
    CollapseLoops, NotCollapsed,
    ::testing::Values(
        refused("RowsThatOverlap", tile("      out[i * d + 2 * j] = in[j];\n", "", ""),
                "two rounds may store"),
        refused("OnePlaceForARow", tile("      out[i] = in[i * d + j];\n", "", ""), "two rounds may store"),
        refused("AnIndexFromMemory", tile("      out[(int)in[i * d + j]] = w[j];\n", "", ""),
                "two rounds may store"),
        refused("RowsShorterThanTheInnerLoop", tile("      out[i * (d - 1) + j] = in[j];\n", "", ""),
                "two rounds may store"),
        refused("ASumOverTheRow",
                tile("      sum += in[i * d + j];\n      out[i * d + j] = sum;\n", "    float sum = 0;\n",
                     ""),
                "does more than its inner loop"),
        refused("ASumOverAll",
                tile("      sum += in[i * d + j];\n      out[i * d + j] = sum;\n", "", "  float sum = 0;\n"),
                "may be another one in another thread"),
        refused("WhatAThreadHas",
                tile("      out[i * d + j] = mine;\n", "", "  const float mine = in[threadIdx.x];\n"),
                "may be another one in another thread"),
        refused("TheThreadItself", tile("      out[i * d + j] = threadIdx.x;\n", "", ""),
                "names threadIdx.x"),
        refused("AShuffle", tile("      out[i * d + j] = __shfl_sync(~0u, in[j], 0);\n", "", ""),
                "may depend on the thread"),
        refused("ALane", tile("      out[i * d + j] = lane();\n", "", ""), "may depend on the thread",
                restricted, "__device__ int lane() { return threadIdx.x % 32; }\n"),
        refused(
            "AStoreBehindTheInnerLoop",
            std::string("  ") + of_block +
                " {\n    for (int j = 0; j < d; ++j)\n      out[i * d + j] = in[j];\n    out[i] = 0;\n  }\n",
            "no loop that is dealt out"),
        refused("ATriangle",
                std::string("  ") + of_block +
                    "\n    for (int j = 0; j < i; ++j)\n      out[i * d + j] = in[j];\n",
                "no loop that is dealt out"),
        refused("RowsOfTheirOwnLength",
                std::string("  ") + of_block +
                    " {\n    const int length = (int)w[i];\n    for (int j = 0; j < length; ++j)\n"
                    "      out[i * d + j] = in[j];\n  }\n",
                "no loop that is dealt out"),
        refused("AnEndInTheMiddle",
                tile("      if (in[i * d + j] < 0)\n        break;\n      out[i * d + j] = 1;\n", "", ""),
                "may end the loop"),
        refused("AnAtomicOperation", tile("      atomicAdd(out + i * d + j, in[j]);\n", "", ""),
                "orders memory"),
        refused("WhatAnotherRoundStores", tile("      out[i * d + j] = out[i * d + j + 1];\n", "", ""),
                "may load what another one stores"),
        refused("WhatMayBeWhatAnotherRoundStores",
                tile("      out[i * d + j] = in[i * d + j + 1];\n", "", ""),
                "may load what another one stores", may_be_one),
        refused("WhatTheRowLoadedBefore",
                tile("      out[i * d + j] = first;\n", "    const float first = out[i * d];\n", ""),
                "may load what another one stores"),
        refused("ReadBehindItWithoutABarrier",
                tile(into_tile, "", staged) + "  out[threadIdx.x] = tile[threadIdx.x];\n",
                "no barrier in between"),
        refused("ReadBehindABarrierOfAWarp",
                tile(into_tile, "", staged) + "  __syncwarp();\n  out[threadIdx.x] = tile[threadIdx.x];\n",
                "no barrier in between"),
        refused("WrittenBeforeItWithoutABarrier",
                tile("      out[i * d + j] = tile[i];\n", "",
                     std::string(staged) + "  tile[threadIdx.x] = in[lane];\n"),
                "no barrier in between"),
        refused("ReadBeforeItWithoutABarrier",
                tile(into_tile, "", std::string(staged) + "  out[threadIdx.x] = tile[threadIdx.x];\n"),
                "no barrier in between"),
        refused("InALoopWithoutABarrier",
                std::string(staged) + "  for (int t = 0; t < n; ++t) {\n    __syncthreads();\n" +
                    tile(into_tile, "", "") + "  }\n",
                "not between two barriers"),
        refused("LeftBeforeTheNextBarrier",
                std::string(staged) + "  for (int t = 0; t < n; ++t) {\n    __syncthreads();\n" +
                    tile(into_tile, "", "") +
                    "    if (t == d)\n      break;\n    __syncthreads();\n  }\n  out[threadIdx.x] = "
                    "tile[threadIdx.x];\n",
                "the block may leave"),
        refused("ThreadsThatHaveLeft",
                tile("      out[i * d + j] = in[j];\n", "", "  if (threadIdx.x > 99)\n    return;\n"),
                "threads may have left"),
        refused(
            "BlocksThatShareWhatIsReadLater",
            "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x)\n"
            "    for (int j = 0; j < d; ++j)\n      out[i * d + j] = in[i * d + j];\n"
            "  __syncthreads();\n  out[n] = out[0];\n",
            "no barrier in between"),
        refused("VolatileMemory",
                tile("      shown[i * d + j] = in[j];\n", "", "  volatile float* shown = out;\n"),
                "volatile"),
        refused("AnAddressThatMoves",
                tile("      *to++ = in[i * d + j];\n", "", "  float* to = out + threadIdx.x * d;\n"),
                " at line"),
        refused("AHelperThatStores", tile("      put(out, i * d + j, in[j]);\n", "", ""), "may change memory",
                restricted, "__device__ void put(float* p, int i, float v) { p[i] = v; }\n")),
    [](const auto& row) { return std::string(row.param.name); });

} // namespace
} // namespace lathe::refactor::testing
