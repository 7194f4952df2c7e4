// Rows of shared memory that become longer or shorter: of arrays, and of dynamic memory that the launch
// sizes; and what moves as vectors between such rows and registers.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

class Padding : public ::testing::TestWithParam<Row> {};
TEST_P(Padding, TakesOrRefuses) {
  check(GetParam());
}

// A tile that is written by rows and read down its columns.
std::string transposing(const std::string& declaration,
                        const std::string& use = "tile[threadIdx.x][threadIdx.y]") {
  return kernel(
      "  " + declaration +
      "\n  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 16 + threadIdx.x];\n  __syncthreads();\n"
      "  out[threadIdx.y * 16 + threadIdx.x] = " +
      use + ";");
}

INSTANTIATE_TEST_SUITE_P(
    Arrays, Padding,
    ::testing::Values(
        Row{"PadColumns", "pad-shared", plain(transposing("__shared__ float tile[16][16];"), {"16", "16"}),
            "PAD", ""},
        Row{"PadPadded", "pad-shared", plain(transposing("__shared__ float tile[16][16 + 1];"), {"16", "16"}),
            "PAD", ""},
        Row{"PadRowsOnly", "pad-shared",
            plain(transposing("__shared__ float tile[16][16];", "tile[threadIdx.y][15 - threadIdx.x]"),
                  {"16", "16"}),
            "", "no column that threads go down"},
        Row{"PadAddress", "pad-shared",
            plain(transposing("__shared__ float tile[16][16];", "*(&tile[0][0] + threadIdx.x * 16)"),
                  {"16", "16"}),
            "", "used otherwise than by elements"},
        Row{"PadRowPointer", "pad-shared",
            plain(transposing("__shared__ float tile[16][16];", "(tile[threadIdx.x] + 1)[threadIdx.y]"),
                  {"16", "16"}),
            "", "used otherwise than by elements"},
        Row{"PadFlat", "pad-shared",
            plain(kernel(
                "  __shared__ float tile[256];\n  tile[threadIdx.x] = in[threadIdx.x];\n  __syncthreads();\n"
                "  out[threadIdx.x] = tile[255 - threadIdx.x];")),
            "", "has no rows"},
        Row{"PadNothing", "pad-shared", plain(kernel("  out[threadIdx.x] = in[threadIdx.x];")), "",
            "no static shared array"}),
    [](const auto& tested) { return std::string(tested.param.name); });

// Each thread fills whole rows of d + 1 elements, which are then read down the columns.
std::string rows(const std::string& load = "out[e] += rows[r * (d + 1) + e];",
                 const std::string& begin = "  extern __shared__ float memory[];\n"
                                            "  float* weights = memory;\n"
                                            "  float* rows = weights + n;\n",
                 const std::string& store = "rows[r * (d + 1) + e] = in[r * d + e];") {
  return kernel(begin +
                "  for (int r = threadIdx.x; r < n; r += blockDim.x) {\n"
                "    weights[r] = in[r];\n"
                "    for (int e = 0; e < d; ++e)\n      " +
                store +
                "\n  }\n"
                "  __syncthreads();\n"
                "  for (int e = threadIdx.x; e < d; e += blockDim.x)\n"
                "    for (int r = 0; r < n; ++r)\n      " +
                load);
}

Facts sized(const std::string& text, const std::string& shared = "n * 4 + n * (d + 1) * 4") {
  Facts facts = plain(text);
  facts.shared = shared;
  return facts;
}

INSTANTIATE_TEST_SUITE_P(
    DynamicRows, Padding,
    ::testing::Values(
        Row{"Rows", "pad-shared", sized(rows()), "PAD", ""},
        Row{"StrideByName", "pad-shared",
            sized(rows("out[e] += rows[r * stride + e];",
                       "  extern __shared__ float memory[];\n  float* weights = memory;\n"
                       "  float* rows = weights + n;\n  const int stride = d + 1;\n",
                       "rows[r * stride + e] = in[r * d + e];")),
            "PAD", ""},
        Row{"ArrayBehindTheRows", "pad-shared",
            sized(rows("out[e] += rows[r * (d + 1) + e] * weights[r];",
                       "  extern __shared__ float rows[];\n  float* weights = rows + n * (d + 1);\n")),
            "PAD", ""},
        Row{"RemaindersAreColumns", "pad-shared", sized(rows("out[r] += rows[(r / d) * (d + 1) + r % d];")),
            "PAD", ""},
        Row{"ColumnMayLieBehindItsRow", "pad-shared", sized(rows("out[e] += rows[r * (d + 1) + e + 1];")), "",
            "at line"},
        Row{"ColumnOfAnotherLength", "pad-shared", sized(rows("out[r] += rows[(r / d) * (d + 1) + r % n];")),
            "", "may lie behind its row"},
        Row{"SumIsAnotherNumberToo", "pad-shared", sized(rows("out[e] += rows[r * (d + 1) + e] / (d + 1);")),
            "", "more than the length of a row"},
        Row{"OtherElements", "pad-shared", sized(rows("out[e] += rows[r * (d + 1) + e] + rows[e];")), "",
            "used otherwise than by rows"},
        Row{"ArrayAtAPlaceOfItsOwn", "pad-shared",
            sized(rows("out[e] += rows[r * (d + 1) + e];",
                       "  extern __shared__ float rows[];\n  float* weights = rows + n * d + n;\n")),
            "", "used otherwise than by rows"},
        Row{"ArrayBehindByBytes", "pad-shared",
            sized(rows("out[e] += rows[r * (d + 1) + e];",
                       "  extern __shared__ char memory[];\n  float* rows = (float*)(memory + 16);\n"
                       "  float* weights = (float*)(memory + 4096);\n")),
            "", "may lie behind rows"},
        Row{"RowsOwnPointer", "pad-shared",
            sized(rows("{ const float* row = rows + r * (d + 1); out[e] += row[d]; }")), "",
            "a row has a pointer of its own"},
        Row{"LaunchWithoutRows", "pad-shared", sized(rows(), "n * 4 + n * d * 4 + n * 4"), "",
            "the launch's shared memory has no rows"},
        Row{"ArrayOfItsOwnSize", "pad-shared",
            sized(rows("out[e] += rows[r * (d + 1) + e];",
                       "  __shared__ float rows[2048];\n  __shared__ float weights[64];\n")),
            "", "at line"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(DynamicRows, TheLaunchHasRoomForThePadding) {
  const Facts facts = sized(rows());
  const Outcome outcome = apply_rule("pad-shared", facts);
  ASSERT_NE(outcome.knob("PAD"), nullptr) << outcome.report.detail;
  EXPECT_EQ(outcome.knob("PAD")->default_value.text(), "1");
  EXPECT_TRUE(outcome.has("rows[r * (d + PAD) + e] = in[r * d + e];")) << outcome.candidate.text;
  const auto bytes = [&](std::int64_t pad) {
    const auto value = outcome.candidate.launch.shared_bytes.evaluate([&](std::string_view name) {
      return std::optional<Value>(name == "n" ? 8 : name == "d" ? 32 : pad);
    });
    return value.ok() ? std::get<std::int64_t>(*value) : -1;
  };
  EXPECT_EQ(bytes(1), 8 * 4 + 8 * 33 * 4);
  EXPECT_EQ(bytes(4), 8 * 4 + 8 * 36 * 4);
  EXPECT_TRUE(outcome.has_condition("device.shared_per_block_optin"));
  EXPECT_EQ(machine_code(facts.text, "k"), machine_code(outcome.candidate.text, "k<1>"));
  EXPECT_NE(machine_code(facts.text, "k"), machine_code(outcome.candidate.text, "k<4>"));
}

const char* const shared_rows = "  extern __shared__ float memory[];\n  float* rows = memory + n;\n";

// Rows go to shared memory, and from there to `out`, by elements that are dealt out.
std::string copied(const std::string& work) {
  return kernel(std::string(shared_rows) +
                    "  for (int r = threadIdx.x; r < n; r += blockDim.x)\n"
                    "    for (int e = 0; e < d; ++e)\n"
                    "      rows[r * (d + 4) + e] = 2 * in[r * d + e];\n"
                    "  __syncthreads();\n"
                    "  for (int i = threadIdx.x; i < n * d; i += blockDim.x) {\n    " +
                    work + "\n  }",
                "", "float* __restrict__ out, const float* __restrict__ in, int n, int d");
}

TEST(VectorsOnChip, NeighbouringColumnsAreStoredTogetherWhereTheyAreAligned) {
  const Facts facts = sized(copied("out[i] = rows[i];"));
  const Outcome outcome = apply_rule("collapse-loops", facts);
  ASSERT_NE(outcome.knob("COLLAPSE_VEC"), nullptr) << outcome.report.detail;
  EXPECT_TRUE(outcome.has("lathe_together_of_rows = lathe_together_of_rows && "
                          "lathe_aligned<COLLAPSE_VEC>(&rows[r * (d + 4) + 0]);"))
      << outcome.candidate.text;
  EXPECT_TRUE(outcome.has(
      "lathe_scatter(lathe_rows_of_rows, &rows[r * (d + 4) + lathe_first_of_rows], lathe_together_of_rows);"))
      << outcome.candidate.text;
  EXPECT_EQ(machine_code(facts.text, "k"), machine_code(outcome.candidate.text, "k<0, 1>"));
  EXPECT_NE(machine_code(outcome.candidate.text, "k<1, 4>").rfind("error", 0), 0u);
}

bool gathers(const std::string& work) {
  const Facts facts = sized(copied(work));
  const Outcome outcome = apply_rule("vectorize-loop", facts);
  EXPECT_NE(outcome.knob("VEC"), nullptr) << outcome.report.detail;
  EXPECT_EQ(machine_code(facts.text, "k"), machine_code(outcome.candidate.text, "k<1>"));
  EXPECT_NE(machine_code(outcome.candidate.text, "k<4>").rfind("error", 0), 0u);
  return outcome.has("= lathe_together ? *reinterpret_cast<const lathe_elements<float, VEC>*>(&rows[") &&
         outcome.has("lathe_together ? lathe_rows.element[lathe_lane] : rows[");
}

TEST(VectorsOnChip, ElementsOfRowsAreLoadedTogetherWhileTheRowStays) {
  EXPECT_TRUE(gathers("const int r = i / d, e = i % d;\n    out[i] = rows[r * (d + 4) + e];"));
  EXPECT_TRUE(gathers("out[i] = rows[i % d + (d + 4) * (i / d)];"));
  // Of another length than the quotient's.
  EXPECT_FALSE(gathers("out[i] = rows[(i / d) * (d + 4) + i % n];"));
  // Where the work stores there, too.
  EXPECT_FALSE(gathers("out[i] = rows[(i / d) * (d + 4) + i % d];\n    rows[i % 2] = 0;"));
  EXPECT_FALSE(gathers("out[i] = rows[(i / d) * (d + 4) + i % d];\n    *(rows + 1) = 0;"));
  // Not for every element.
  EXPECT_FALSE(gathers("out[i] = in[i] > 0 ? rows[(i / d) * (d + 4) + i % d] : 0;"));
}

} // namespace
} // namespace lathe::refactor::testing
