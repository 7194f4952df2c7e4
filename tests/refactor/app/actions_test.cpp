// The legal actions of every shipped kernel, and the reasons for the rest, against golden lists.
// LATHE_UPDATE_GOLDEN=1 writes the lists anew.
#include "refactor/agents/actions.h"
#include "refactor/app/subject.h"
#include "tuner/base/files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fmt/format.h>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

fs::path source_folder() {
  return std::getenv("LATHE_SOURCE_DIR");
}

class Actions : public ::testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    SubjectRequest request;
    request.source = source_folder() / "sglang_kernels" / (std::string(GetParam()) + ".cu");
    auto source = ParsedSource::parse(request.source, request.parse);
    ASSERT_TRUE(source.ok()) << source.error().sentence();
    const auto kernels = find_kernels(**source);
    ASSERT_FALSE(kernels.empty()); // of two between which a launcher chooses, the first
    request.kernel = kernels.front().qualified_name;
    auto subject = prepare_subject(request, **source);
    ASSERT_TRUE(subject.ok()) << subject.error().sentence();
    subject_ = std::move(*subject);
  }
  Subject subject_;
};

TEST_P(Actions, AreTheGoldenList) {
  const auto actions = agents::enumerate_actions(subject_.raw, {});
  ASSERT_TRUE(actions.ok()) << actions.error().sentence();
  std::string text;
  for (const agents::Action& action : actions->legal)
    text += fmt::format("{} {}, {}, lines {} to {}\n", action.label(), agents::to_string(action.kind),
                        agents::to_string(action.direction), action.first_line, action.last_line);
  for (const agents::RefusedAction& refused : actions->refused)
    text += fmt::format("- {}: {}\n", refused.rule, refused.reason);
  const fs::path golden =
      source_folder() / "tests" / "refactor" / "app" / "golden" / (std::string(GetParam()) + ".actions.txt");
  if (std::getenv("LATHE_UPDATE_GOLDEN")) {
    ASSERT_TRUE(write_file(golden, text).ok());
  }
  const auto expected = read_file(golden);
  ASSERT_TRUE(expected.ok()) << expected.error().sentence();
  EXPECT_EQ(text, *expected);
}

TEST_P(Actions, AllOfThemCanBeDone) {
  const auto actions = agents::enumerate_actions(subject_.raw, {});
  ASSERT_TRUE(actions.ok());
  const auto keys = agents::keys_after(subject_.raw, actions->legal, {});
  ASSERT_TRUE(keys.ok());
  for (std::size_t i = 0; i < actions->legal.size(); ++i) {
    const auto made = agents::apply_action(subject_.raw, actions->legal[i], {});
    ASSERT_TRUE(made.ok()) << actions->legal[i].label() << ": " << made.error().sentence();
    EXPECT_EQ(agents::state_key(*made), (*keys)[i]);
    EXPECT_EQ(made->knobs.size(), subject_.raw.knobs.size() + actions->legal[i].knobs.size())
        << actions->legal[i].label() << " exposes its own knobs and no others";
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, Actions,
                         ::testing::Values("apply_token_bitmask", "concat_mla_k", "fused_add_rmsnorm",
                                           "gelu_and_mul", "merge_attn_states_lse", "per_tensor_quant_fp8",
                                           "per_token_group_quant_fp8", "per_token_quant_fp8", "rmsnorm",
                                           "rotary_embedding", "silu_and_mul", "store_kv_cache",
                                           "topk_softmax"),
                         [](const auto& shipped) { return std::string(shipped.param); });

// Two orders of the same two actions end in one state.
TEST(StateKey, DoesNotDependOnTheOrderOfIndependentActions) {
  SubjectRequest request;
  request.source = source_folder() / "sglang_kernels" / "silu_and_mul.cu";
  request.kernel = "act_and_mul_kernel";
  auto source = ParsedSource::parse(request.source, request.parse);
  ASSERT_TRUE(source.ok());
  const auto subject = prepare_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  const auto after = [&](std::vector<RewriteStep> steps) {
    const auto result = rewrite_steps(subject->raw, steps, {});
    EXPECT_TRUE(result.ok());
    for (const RuleReport& report : result->reports)
      EXPECT_TRUE(report.applied) << report.rule << ": " << report.detail;
    return agents::state_key(result->candidate);
  };
  EXPECT_EQ(after({{"cache-hints", {}}, {"rows-per-block", {}}}),
            after({{"rows-per-block", {}}, {"cache-hints", {}}}));
  EXPECT_EQ(after({{"expose-unroll", {"UNROLL"}}, {"cache-hints", {}}}),
            after({{"cache-hints", {}}, {"expose-unroll", {"UNROLL"}}}));
  EXPECT_NE(after({{"expose-unroll", {"UNROLL"}}}), after({{"expose-unroll", {"UNROLL_2"}}}));
  const auto unknown = rewrite_steps(subject->raw, {{"expose-unroll", {"NO_SUCH_KNOB"}}}, {});
  ASSERT_TRUE(unknown.ok());
  EXPECT_FALSE(unknown->reports.front().applied);
}

// A second block size in place of the first is no legal action, whatever the rule would make of it.
TEST(LegalActions, TheLaunchIsShapedOnce) {
  SubjectRequest request;
  request.source = source_folder() / "sglang_kernels" / "store_kv_cache.cu";
  auto source = ParsedSource::parse(request.source, request.parse);
  ASSERT_TRUE(source.ok());
  request.kernel = find_kernels(**source).front().qualified_name;
  const auto subject = prepare_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  for (const char* rule : {"expose-block-size", "rows-per-block"}) {
    const auto once = rewrite_steps(subject->raw, {{rule, {}}}, {});
    ASSERT_TRUE(once.ok() && once->reports.front().applied) << rule;
    const auto actions = agents::enumerate_actions(once->candidate, {});
    ASSERT_TRUE(actions.ok());
    for (const agents::Action& action : actions->legal)
      EXPECT_NE(action.rule, rule) << action.label();
  }
}

} // namespace
} // namespace lathe::refactor
