// Loads that are asked for early: which move and in front of what, what holds others back, and that the
// default stays the raw kernel's machine code.
#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

const char* const restricted =
    "float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ w, int n, int d";
const char* const may_overlap = "float* out, const float* in, const float* w, int n, int d";

Facts facts_of(const std::string& body, const char* parameters = restricted, const std::string& before = "") {
  return plain(kernel(body, before, parameters));
}

void same_at_the_default(const Facts& facts, const Outcome& outcome) {
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(machine_code(facts.text, "k"),
            machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32")));
}

void compiles(const Outcome& outcome, const std::map<std::string, std::int64_t>& values) {
  const std::string code =
      machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32", values));
  EXPECT_NE(code.rfind("error", 0), 0u) << code;
}

TEST(LoadEarly, InFrontOfAQuotientBehindTheLoadsOfItsOperands) {
  const Facts facts = facts_of("  const int i = blockIdx.x * 256 + threadIdx.x;\n  const float a = in[i];\n"
                               "  // The share.\n  const float share = a / (a + 1.0f);\n"
                               "  const float b = w[i];\n  out[i] = share * b;\n",
                               may_overlap);
  const Outcome outcome = apply_rule("load-early", facts);
  same_at_the_default(facts, outcome);
  EXPECT_TRUE(outcome.has("  const float a = in[i];\n"
                          "  const float lathe_early = LOAD_EARLY == 1 ? w[i] : float();\n"
                          "  // The share.\n  const float share = a / (a + 1.0f);\n"
                          "  const float b = (LOAD_EARLY == 1 ? lathe_early : w[i]);"))
      << outcome.candidate.text;
  ASSERT_NE(outcome.knob("LOAD_EARLY"), nullptr);
  EXPECT_EQ(outcome.knob("LOAD_EARLY")->kind, KnobKind::stage);
  compiles(outcome, {{"LOAD_EARLY", 1}});
}

TEST(LoadEarly, WithTheConditionsThatItStandsUnder) {
  const Facts facts =
      facts_of("  const int i = threadIdx.x;\n  float sum = in[i];\n  sum += __shfl_xor_sync(~0u, sum, 1);\n"
               "  __syncthreads();\n  if (i < n) {\n    sum *= 2.0f;\n    if (i != d)\n"
               "      out[i] = sum;\n    else\n      out[i] = i > 3 ? w[i] : sum;\n  }\n");
  const Outcome outcome = apply_rule("load-early", facts);
  same_at_the_default(facts, outcome);
  EXPECT_TRUE(
      outcome.has("const float lathe_early = LOAD_EARLY == 1 && (i < n) && !(i != d) && (i > 3) ? w[i] : "
                  "float();\n  sum += __shfl"))
      << outcome.candidate.text;
  compiles(outcome, {{"LOAD_EARLY", 1}});
}

TEST(LoadEarly, InFrontOfALoopAndItsPragma) {
  const Facts facts = facts_of("  const int i = threadIdx.x;\n  float sum = 0;\n#pragma unroll 4\n"
                               "  for (int j = 0; j < d; ++j)\n    sum += in[j];\n  out[i] = sum * w[i];\n");
  const Outcome outcome = apply_rule("load-early", facts);
  same_at_the_default(facts, outcome);
  EXPECT_TRUE(outcome.has("  float sum = 0;\n  const float lathe_early = LOAD_EARLY == 1 ? w[i] : float();\n"
                          "#pragma unroll 4\n"))
      << outcome.candidate.text;
  compiles(outcome, {{"LOAD_EARLY", 1}});
}

TEST(LoadEarly, OfClassTypesAndThroughNamesOfTheBuffer) {
  const Facts facts = facts_of("  const float4* row = reinterpret_cast<const float4*>(w) + blockIdx.x * d;\n"
                               "  float sum = expf(in[threadIdx.x]);\n  const float4 v = row[threadIdx.x];\n"
                               "  const float4 u = *reinterpret_cast<const float4*>(in + threadIdx.x * 4);\n"
                               "  out[threadIdx.x] = sum * v.x * u.y;\n",
                               may_overlap);
  const Outcome outcome = apply_rule("load-early", facts);
  same_at_the_default(facts, outcome);
  EXPECT_TRUE(outcome.has("const float4 lathe_early = LOAD_EARLY == 1 ? row[threadIdx.x] : float4();"))
      << outcome.candidate.text;
  EXPECT_TRUE(
      outcome.has("const float4 lathe_early_2 = LOAD_EARLY == 1 ? *reinterpret_cast<const float4*>(in + "
                  "threadIdx.x * 4) : float4();"));
  compiles(outcome, {{"LOAD_EARLY", 1}});
}

TEST(LoadEarly, TakesACachePolicyAtBothPlaces) {
  const Facts facts =
      facts_of("  const int i = blockIdx.x * 256 + threadIdx.x;\n  const float share = 1.0f / in[i];\n"
               "  out[i] = share * w[i];\n");
  const auto both = rewrite(make_candidate(facts), {"load-early", "cache-hints"}, ParseOptions{});
  ASSERT_TRUE(both.ok()) << both.error().sentence();
  const std::string& text = both->candidate.text;
  EXPECT_NE(text.find("lathe_early = LOAD_EARLY == 1 ? lathe_load<LOAD_CACHE>(&w[i]) : float();"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("(LOAD_EARLY == 1 ? lathe_early : lathe_load<LOAD_CACHE>(&w[i]))"), std::string::npos);
}

TEST(LoadEarly, AnIndexFromMemoryMovesTheElementStays) {
  const Facts facts = facts_of(
      "  const int i = threadIdx.x;\n  const float x = 1.0f / w[i];\n  out[i] = x * w[(int)in[i]];\n");
  const Outcome outcome = apply_rule("load-early", facts);
  same_at_the_default(facts, outcome);
  EXPECT_TRUE(
      outcome.has("LOAD_EARLY == 1 ? in[i] : float();\n  const float x = 1.0f / w[i];\n  out[i] = x * "
                  "w[(int)(LOAD_EARLY == 1 ? lathe_early : in[i])];"))
      << outcome.candidate.text;
}

class NotEarly : public ::testing::TestWithParam<Row> {};
TEST_P(NotEarly, IsRefused) {
  check(GetParam());
}

const std::string stays = "stands where it can first be asked for";
Row refused(const char* name, const std::string& between, const char* parameters = restricted,
            const std::string& load = "w[i]") {
  return Row{
      name, "load-early",
      facts_of("  const int i = threadIdx.x;\n  int j = i;\n  float x = in[i];\n" + between +
                   "  out[i] = x * " + load + ";\n",
               parameters,
               "__device__ void fill(float* p) { p[threadIdx.x] = expf(p[threadIdx.x]); }\n"
               "__device__ float counted(float* p) { return atomicAdd(p, 1.0f); }\n"
               "__device__ float checked(float x) {\n  if (x < 0)\n    __trap();\n  return 1 / x;\n}\n"),
      "", stays};
}

INSTANTIATE_TEST_SUITE_P(
    LoadEarly, NotEarly,
    ::testing::Values(
        refused("NothingTakesLong", "  x = x * 2 + 1;\n"),
        refused("AStoreThatMayOverlap", "  out[i + 1] = 1 / x;\n", may_overlap),
        refused("AStoreByAFunction", "  fill(out);\n", may_overlap),
        refused("ABarrierWhereOthersMayStore", "  x = 1 / x;\n  __syncthreads();\n", may_overlap),
        refused("AnAtomicOperation", "  x = 1 / x;\n  atomicAdd(&out[0], x);\n"),
        refused("AnAtomicOperationOfAFunction", "  x = counted(out);\n"),
        refused("AFence", "  x = 1 / x;\n  __threadfence();\n"),
        refused("AWaitForTheKernelBefore", "  x = 1 / x;\n  asm volatile(\"griddepcontrol.wait;\");\n"),
        refused("AStoreAtAnIndexFromSharedMemory",
                "  __shared__ int order[256];\n  order[i] = i;\n  x = 1 / x;\n  *(out + order[i]) = x;\n",
                may_overlap),
        refused("AnAssertion", "  x = 1 / x;\n  if (i >= n)\n    __trap();\n"),
        refused("AnAssertionInAFunction", "  x = checked(x);\n"),
        refused("ALabel", "  if (x > 3)\n    goto there;\n  x = 1 / x;\nthere:\n  x = 1 / x;\n"),
        refused("AWayOut", "  x = 1 / x;\n  if (x > d)\n    return;\n"),
        refused("AnIndexThatChanges", "  x = 1 / x;\n  j += 3;\n", restricted, "w[j]"),
        refused("AnIndexFromSharedMemory", "  __shared__ int order[256];\n  order[i] = i;\n  x = 1 / x;\n",
                restricted, "w[order[255 - i]]"),
        refused("AnIndexThatACallMayChange", "  x = 1 / x;\n", restricted, "w[__float2int_rn(x)]"),
        refused("ABufferThatIsWritten", "  x = 1 / x;\n  out[i] = x;\n", restricted, "out[i + 1]")),
    [](const auto& row) { return std::string(row.param.name); });

// A norm: rows of `in` are kept, the weights are only needed when the row's scale is known.
struct Norm {
  const char* parameters = restricted;
  std::string first = "sum += in[blockIdx.x * d + i];", between = "  sum = __shfl_xor_sync(~0u, sum, 1);\n",
              counter = "i", later = "out[blockIdx.x * d + i] = in[blockIdx.x * d + i] * sum * w[i];";
  Facts facts() const {
    const auto loop = [](const std::string& name, const std::string& body) {
      return "  for (int " + name + " = threadIdx.x; " + name + " < d; " + name + " += blockDim.x) {\n    " +
             body + "\n  }\n";
    };
    return facts_of("  float sum = 0;\n" + loop("i", first) + between + loop(counter, later), parameters);
  }
};

TEST(EarlyRounds, TheFirstLoopAsksForWhatTheSecondNeeds) {
  const Facts facts = Norm().facts();
  const Outcome outcome = apply_rule("keep-in-registers", facts);
  same_at_the_default(facts, outcome);
  EXPECT_TRUE(outcome.has("  float lathe_kept[KEEP == 0 ? 1 : KEEP];\n"
                          "  float lathe_early[LOAD_EARLY == 0 ? 1 : KEEP];\n"))
      << outcome.candidate.text;
  EXPECT_TRUE(
      outcome.has("    if constexpr (LOAD_EARLY == 1) {\n      lathe_early[lathe_round] = w[i];\n    }"))
      << outcome.candidate.text;
  EXPECT_TRUE(outcome.has("* sum * (LOAD_EARLY == 0 ? w[i] : lathe_early[lathe_round]);"));
  EXPECT_TRUE(outcome.has_condition("LOAD_EARLY == 0 || KEEP > 0"));
  compiles(outcome, {{"KEEP", 3}, {"LOAD_EARLY", 1}});
}

TEST(EarlyRounds, WithTheRoundsOwnVariablesAndConditions) {
  Norm norm;
  norm.counter = "j";
  norm.later =
      "const int column = j * 2;\n    const int place = column + 1;\n    if (place >= n)\n      continue;\n"
      "    if (column != 4)\n      out[blockIdx.x * d + j] = in[blockIdx.x * d + j] * sum * w[place];";
  const Facts facts = norm.facts();
  const Outcome outcome = apply_rule("keep-in-registers", facts);
  same_at_the_default(facts, outcome);
  EXPECT_TRUE(outcome.has(
      "      const auto j = i;\n      const int column = j * 2;\n      const int place = column + 1;\n"
      "      if (!(place >= n) && (column != 4))\n        lathe_early[lathe_round] = w[place];\n"))
      << outcome.candidate.text;
  compiles(outcome, {{"KEEP", 2}, {"LOAD_EARLY", 1}});
}

TEST(EarlyRounds, OnlyOfWhatStaysAndIsKnownInTime) {
  const auto keeps_alone = [](const Norm& norm) {
    const Outcome outcome = apply_rule("keep-in-registers", norm.facts());
    EXPECT_NE(outcome.knob("KEEP"), nullptr) << outcome.report.detail;
    EXPECT_EQ(outcome.knob("LOAD_EARLY"), nullptr) << outcome.candidate.text;
  };
  Norm overlaps;
  overlaps.parameters = "float* __restrict__ out, const float* __restrict__ in, const float* w, int n, int d";
  keeps_alone(overlaps);
  Norm waits;
  waits.between += "  asm volatile(\"griddepcontrol.wait;\");\n";
  keeps_alone(waits);
  Norm counts;
  counts.between += "  atomicAdd(&out[n], sum);\n";
  keeps_alone(counts);
  Norm depends;
  depends.between += "  const int shift = (int)sum;\n";
  depends.later = "out[blockIdx.x * d + i] = in[blockIdx.x * d + i] * w[i + shift];";
  keeps_alone(depends);
  Norm selects;
  selects.later = "float v = in[blockIdx.x * d + i];\n    if (sum > 1)\n      v *= w[i];\n    out[blockIdx.x "
                  "* d + i] = v;";
  keeps_alone(selects);
  Norm indirect;
  indirect.later = "out[blockIdx.x * d + i] = in[blockIdx.x * d + i] * w[(int)w[i]];";
  const Outcome outcome = apply_rule("keep-in-registers", indirect.facts());
  EXPECT_TRUE(outcome.has("w[(int)(LOAD_EARLY == 0 ? w[i] : lathe_early[lathe_round])]"))
      << outcome.candidate.text;
}

} // namespace
} // namespace lathe::refactor::testing
