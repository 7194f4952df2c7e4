#include "tests/refactor/rewrite/kernels_for_rules.h"

#include <gtest/gtest.h>

namespace lathe::refactor::testing {
namespace {

Facts strided_facts() {
  Facts facts;
  facts.text = strided;
  facts.instance = "twice<{T}>";
  return facts;
}

TEST(Engine, UnknownRulesAreNamedWithTheKnownOnes) {
  const auto result = rewrite(make_candidate(strided_facts()), {"no-such-rule"}, ParseOptions{});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().sentence().find("expose-block-size"), std::string::npos);
}

TEST(Engine, TextThatDoesNotParseIsAnError) {
  Facts facts = strided_facts();
  facts.text += "int unfinished = ;\n";
  EXPECT_FALSE(rewrite(make_candidate(facts), {}, ParseOptions{}).ok());
}

TEST(Engine, ARuleIsNotAppliedTwice) {
  const auto result =
      rewrite(make_candidate(strided_facts()),
              {"cache-hints", "cache-hints", "launch-bounds", "launch-bounds"}, ParseOptions{});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->reports[0].applied);
  EXPECT_FALSE(result->reports[1].applied);
  EXPECT_TRUE(result->reports[2].applied);
  EXPECT_FALSE(result->reports[3].applied) << result->reports[3].detail;
}

TEST(Engine, PlainFunctionsBecomeTemplates) {
  Facts facts;
  facts.text = "extern \"C\" __global__ void k(float* out, int d) {\n"
               "  for (int i = threadIdx.x; i < d; i += blockDim.x) out[i] = 0;\n}\n";
  facts.instance = "k";
  facts.dtypes.clear();
  const Outcome outcome = apply_rule("expose-block-size", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.instance, "k<{BLOCK}>");
  EXPECT_FALSE(outcome.has("extern \"C\""));
  EXPECT_EQ(machine_code(outcome.candidate.text, bound_instance(outcome.candidate, "f32")).rfind("error", 0),
            std::string::npos);
}

TEST(Engine, NamesInUseAreAvoided) {
  Facts facts = strided_facts();
  facts.text = "constexpr int BLOCK = 3;\n" + facts.text;
  const Outcome outcome = apply_rule("expose-block-size", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_NE(outcome.knob("BLOCK_2"), nullptr);
}

TEST(Engine, DefaultTemplateArgumentsAreSpelledOut) {
  Facts facts = strided_facts();
  facts.text.replace(facts.text.find("typename T"), 10, "typename T, bool FLAG = true");
  const Outcome outcome = apply_rule("launch-bounds", facts);
  ASSERT_TRUE(outcome.report.applied) << outcome.report.detail;
  EXPECT_EQ(outcome.candidate.instance, "twice<{T}, true, {MIN_BLOCKS}>");
}

TEST(Engine, CommentsAndFormattingSurvive) {
  Facts facts;
  facts.text = reduction;
  facts.instance = "row_sum";
  facts.dtypes.clear();
  const Outcome outcome = apply_rule("expose-block-size", facts);
  EXPECT_TRUE(outcome.has("// Sums over the block.\n"));
}

} // namespace
} // namespace lathe::refactor::testing
