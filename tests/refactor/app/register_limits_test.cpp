// Blocks that a kernel's registers allow.
#include "refactor/app/register_limits.h"

#include "refactor/app/buildable_values.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

// A kernel whose threads keep `held` sums apart, in blocks of `threads`.
Candidate with_sums(int held) {
  Candidate raw;
  raw.kernel = raw.instance = "k";
  raw.text = "__global__ void k(float* out, const float* in, int n) {\n"
             "  float sums[" +
             std::to_string(held) +
             "];\n"
             "#pragma unroll\n"
             "  for (int j = 0; j < " +
             std::to_string(held) +
             "; ++j) sums[j] = in[threadIdx.x * j];\n"
             "  for (int i = 0; i < n; ++i) {\n"
             "#pragma unroll\n"
             "    for (int j = 0; j < " +
             std::to_string(held) +
             "; ++j) sums[j] = sums[j] * in[i + j] + 1.f;\n"
             "  }\n"
             "#pragma unroll\n"
             "  for (int j = 0; j < " +
             std::to_string(held) +
             "; ++j) out[threadIdx.x * j] = sums[j];\n"
             "}\n";
  raw.dimensions = {"n", "threads"};
  raw.launch.block[0] = *Expression::parse("threads");
  return raw;
}

Problem of(std::int64_t n, std::int64_t threads) {
  Problem problem;
  problem.dimensions = {{"n", n}, {"threads", threads}};
  return problem;
}

TEST(RegisterLimits, SizesThatTheBlockFollowsAreHalved) {
  std::vector<Problem> problems{of(4096, 1024), of(4096, 64)};
  std::vector<std::string> notes;
  fit_to_registers(with_sums(100), "sm_90", problems, notes);
  EXPECT_LE(problems[0].dimensions["threads"], 512);
  EXPECT_GE(problems[0].dimensions["threads"], 128);
  EXPECT_EQ(problems[0].dimensions["n"], 4096);
  EXPECT_EQ(problems[1].dimensions["threads"], 64);
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("registers")));
}

TEST(RegisterLimits, LaunchBoundsHoldToo) {
  Candidate raw = with_sums(4);
  raw.text.insert(raw.text.find("k(float"), "__launch_bounds__(64) ");
  std::vector<Problem> problems{of(4096, 1024), of(4096, 64)};
  std::vector<std::string> notes;
  fit_to_registers(raw, "sm_90", problems, notes);
  EXPECT_EQ(problems[0].dimensions["threads"], 64);
  EXPECT_EQ(problems[1].dimensions["threads"], 64);
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("launch bounds admit")));
}

TEST(RegisterLimits, WhatFitsStays) {
  std::vector<Problem> problems{of(4096, 1024)};
  std::vector<std::string> notes;
  fit_to_registers(with_sums(4), "sm_90", problems, notes);
  EXPECT_EQ(problems[0].dimensions["threads"], 1024);
  EXPECT_THAT(notes, testing::IsEmpty());
}

TEST(RegisterLimits, KnobsKeepNoMoreThreadsThanThereAreRegistersFor) {
  Candidate made = with_sums(100);
  Knob knob;
  knob.name = "BLOCK";
  knob.kind = KnobKind::block;
  knob.values = {Value{std::int64_t{0}}, Value{std::int64_t{128}}, Value{std::int64_t{1024}}};
  knob.default_value = *Expression::parse("0");
  made.knobs = {knob};
  made.text = "template <int BLOCK> " + made.text;
  made.instance = "k<{BLOCK}>";
  std::vector<std::string> notes;
  ASSERT_TRUE(keep_buildable_values(made, "sm_90", notes).ok());
  EXPECT_THAT(made.knobs[0].values, testing::ElementsAre(Value{std::int64_t{0}}, Value{std::int64_t{128}}));
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("BLOCK cannot be 1024")));
  // Within bounds of its own each number is given what there is.
  made.knobs = {knob};
  made.text.replace(made.text.find("__global__ void"), 15,
                    "__global__ void __launch_bounds__(BLOCK == 0 ? 256 : BLOCK)");
  ASSERT_TRUE(keep_buildable_values(made, "sm_90", notes).ok());
  EXPECT_EQ(made.knobs[0].values.size(), 3u);
}

// A block of two sides, or of threads that are given more to do: no list of one knob's values tells.
TEST(RegisterLimits, AConditionKeepsBlocksOfSeveralSidesWithinTheRegisters) {
  Candidate made = with_sums(100);
  Knob x;
  x.name = "X";
  x.kind = KnobKind::block;
  x.values = {Value{std::int64_t{32}}, Value{std::int64_t{64}}};
  x.default_value = *Expression::parse("32");
  Knob y = x;
  y.name = "Y";
  y.values = {Value{std::int64_t{1}}, Value{std::int64_t{16}}};
  y.default_value = *Expression::parse("1");
  made.knobs = {x, y};
  made.launch.block = {*Expression::parse("X"), *Expression::parse("Y"), *Expression::parse("1")};
  made.text = "template <int X, int Y> " + made.text;
  made.instance = "k<{X}, {Y}>";
  std::vector<std::string> notes;
  ASSERT_TRUE(keep_buildable_values(made, "sm_90", notes).ok());
  EXPECT_EQ(made.knobs[0].values.size(), 2u);
  EXPECT_EQ(made.knobs[1].values.size(), 2u);
  ASSERT_EQ(made.conditions.size(), 1u);
  const auto holds = [&](std::int64_t width, std::int64_t height) {
    return *made.conditions[0].expression.evaluate_condition([&](std::string_view name) {
      return std::optional<Value>(name == "X" ? width : name == "Y" ? height : std::int64_t{65536});
    });
  };
  EXPECT_TRUE(holds(64, 1));
  EXPECT_TRUE(holds(32, 8));
  EXPECT_FALSE(holds(64, 16));
}

// The text says for which numbers it is written.
TEST(RegisterLimits, KnobsKeepThreadsThatTheTextAllows) {
  Candidate made;
  made.kernel = "k";
  made.text = "template <int BLOCK> __global__ void k(float* out) {\n"
              "  static_assert(BLOCK <= 32 || BLOCK == 256);\n  out[threadIdx.x] = BLOCK;\n}\n";
  made.instance = "k<{BLOCK}>";
  Knob knob;
  knob.name = "BLOCK";
  knob.kind = KnobKind::block;
  knob.values = {Value{std::int64_t{32}}, Value{std::int64_t{64}}, Value{std::int64_t{256}}};
  knob.default_value = *Expression::parse("256");
  made.knobs = {knob};
  std::vector<std::string> notes;
  ASSERT_TRUE(keep_buildable_values(made, "sm_90", notes).ok());
  EXPECT_THAT(made.knobs[0].values, testing::ElementsAre(Value{std::int64_t{32}}, Value{std::int64_t{256}}));
}

} // namespace
} // namespace lathe::refactor
