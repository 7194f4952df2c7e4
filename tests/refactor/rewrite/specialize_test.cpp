// Sizes that become constants of the instance: which are taken, which are refused, and that the default stays
// the raw kernel's machine code.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

struct Passed {
  std::string name, value;
};

// The rule by itself, of a kernel to which these sizes are passed.
Outcome specialize(const Facts& facts, const std::vector<Passed>& passed = {{"n", "n"}, {"d", "d"}}) {
  Candidate candidate = make_candidate(facts);
  for (const auto& [name, value] : passed) {
    Argument argument;
    argument.name = name;
    argument.dtype = "i32";
    argument.is_buffer = false;
    argument.value = *Expression::parse(value);
    candidate.arguments.push_back(argument);
  }
  const auto result = rewrite(candidate, {"specialize-size"}, ParseOptions{});
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().sentence());
  return result.ok() ? Outcome{result->reports.front(), result->candidate} : Outcome{};
}

TEST(Specialize, LoopOfTheThreads) {
  const Outcome outcome = specialize(plain(R"(// Copies a row.
__global__ void k(float* out, const float* in, const int n, const int d) {
  if (blockIdx.x >= n) // rows
    return;
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    out[blockIdx.x * d + i] = in[blockIdx.x * d + i];
}
)"));
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.text, R"(// Copies a row.
template <int FIXED_D>
__global__ void k(float* out, const float* in, const int n, const int d) {
  if (blockIdx.x >= n) // rows
    return;
  for (int i = threadIdx.x; i < (FIXED_D == 0 ? d : FIXED_D); i += blockDim.x)
    out[blockIdx.x * (FIXED_D == 0 ? d : FIXED_D) + i] = in[blockIdx.x * (FIXED_D == 0 ? d : FIXED_D) + i];
}
)");
  const Knob* knob = outcome.knob("FIXED_D");
  ASSERT_NE(knob, nullptr);
  EXPECT_EQ(knob->kind, KnobKind::size);
  ASSERT_TRUE(knob->size);
  EXPECT_EQ(knob->size->text(), "d");
  EXPECT_EQ(knob->values, (std::vector<Value>{std::int64_t{0}, std::int64_t{1}}));
  EXPECT_EQ(outcome.candidate.instance, "k<{FIXED_D}>");
  EXPECT_NE(knob->why.find("counts rounds with it at line 5"), std::string::npos) << knob->why;
}

TEST(Specialize, DefaultIsTheRawKernelsMachineCode) {
  const std::string text =
      kernel("  const int heads = d / 4;\n  const int i = blockIdx.x * 256 + threadIdx.x;\n"
             "  if (i < n * heads)\n    out[i] = in[i / heads] + i % heads;");
  const Outcome outcome = specialize(plain(text));
  ASSERT_NE(outcome.knob("FIXED_D"), nullptr) << outcome.report.detail;
  const std::string raw = machine_code(text, "k"),
                    same = machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32"));
  EXPECT_EQ(raw, same);
  const std::string fixed =
      machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32", {{"FIXED_D", 512}}));
  EXPECT_NE(fixed.rfind("error", 0), 0u) << fixed;
  EXPECT_LT(fixed.size(), raw.size()) << "two divisions by 128 are shorter";
}

TEST(Specialize, WhatIsPassedIsTheSize) {
  const Outcome outcome =
      specialize(plain(kernel("  for (int i = threadIdx.x; i < half; i += 256) out[i] = in[i];", "",
                              "float* out, const float* in, long long half")),
                 {{"half", "d / 2"}});
  const Knob* knob = outcome.knob("FIXED_HALF");
  ASSERT_NE(knob, nullptr) << outcome.report.detail;
  EXPECT_EQ(knob->size->text(), "d / 2");
  EXPECT_EQ(knob->type, "long long");
}

TEST(Specialize, AtMostTwoDivisorsFirst) {
  const Outcome outcome =
      specialize(plain(kernel("  for (int i = threadIdx.x; i < a; i += 256) out[i] = in[i / b] + in[i % c];",
                              "", "float* out, const float* in, int a, int b, int c")),
                 {{"a", "n"}, {"b", "d"}, {"c", "n * d"}});
  EXPECT_EQ(outcome.candidate.knobs.size(), 2u);
  EXPECT_NE(outcome.knob("FIXED_B"), nullptr);
  EXPECT_NE(outcome.knob("FIXED_C"), nullptr);
}

TEST(Specialize, NameThatIsTaken) {
  const Outcome outcome =
      specialize(plain("constexpr int FIXED_D = 3;\n" +
                       kernel("  for (int i = threadIdx.x; i < d; i += 256) out[i] = FIXED_D;")));
  EXPECT_NE(outcome.knob("FIXED_D_2"), nullptr) << outcome.report.detail;
}

struct Refused {
  const char* name;
  std::string body, reason;
  std::string parameters = "float* out, const float* in, int n, int d", before = "";
  std::vector<Passed> passed{{"n", "n"}, {"d", "d"}};
};

class SpecializeRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(SpecializeRefuses, AndSaysWhy) {
  const Refused& row = GetParam();
  const Facts facts = plain(kernel(row.body, row.before, row.parameters));
  const Outcome outcome = specialize(facts, row.passed);
  EXPECT_FALSE(outcome.report.applied) << outcome.candidate.text;
  EXPECT_NE(outcome.report.detail.find(row.reason), std::string::npos) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.text, facts.text);
}

INSTANTIATE_TEST_SUITE_P(
    Table, SpecializeRefuses,
    ::testing::Values(
        Refused{"AllElementsOverTheGrid",
                "  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) out[i] = in[i];",
                "no size of the problem divides anything"},
        Refused{"RowsOverTheGrid",
                "  for (int row = blockIdx.x; row < n; row += gridDim.x) out[row] = in[row];",
                "no size of the problem divides anything"},
        Refused{"GuardAlone", "  if (threadIdx.x < d) out[threadIdx.x] = in[threadIdx.x];",
                "no size of the problem divides anything"},
        Refused{"DivisorOfNumbers", "  out[threadIdx.x] = in[threadIdx.x] / static_cast<float>(d);",
                "no size of the problem divides anything"},
        Refused{"Changed", "  d /= 2;\n  for (int i = threadIdx.x; i < d; i += 256) out[i] = in[i];",
                "changes in the kernel"},
        Refused{"Macro", "  for (int i = threadIdx.x; i < ROW; i += 256) out[i] = in[i];",
                "mentioned in a macro", "float* out, const float* in, int n, int d", "#define ROW (d)\n"},
        Refused{"UnknownValue",
                "  for (int i = threadIdx.x; i < d; i += 256) out[i] = in[i];",
                "passed a value that is not known",
                "float* out, const float* in, int n, int d",
                "",
                {{"n", "n"}}},
        Refused{"NoSize",
                "  for (int i = threadIdx.x; i < d; i += 256) out[i] = in[i];",
                "is no size of the problem",
                "float* out, const float* in, int n, int d",
                "",
                {{"n", "n"}, {"d", "64"}}},
        Refused{"NoWholeNumber", "  for (int i = threadIdx.x; i < d; i += 256) out[i] = in[i];",
                "is no whole number by value", "float* out, const float* in, int n, float d"}),
    [](const auto& tested) { return std::string(tested.param.name); });

} // namespace
} // namespace lathe::refactor::testing
