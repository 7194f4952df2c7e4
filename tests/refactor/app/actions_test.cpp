// The legal actions of every shipped kernel, and the reasons for the rest, against golden lists.
// LATHE_UPDATE_GOLDEN=1 writes the lists anew.
#include "refactor/agents/actions.h"
#include "refactor/app/subject.h"
#include "tuner/base/files.h"

#include <gtest/gtest.h>

#include <algorithm>
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
                                           "gelu_and_mul", "lightning_attention_decode",
                                           "merge_attn_states_lse", "moe_align_block_size",
                                           "per_tensor_quant_fp8", "per_token_group_quant_fp8",
                                           "per_token_quant_fp8", "rmsnorm", "rotary_embedding",
                                           "silu_and_mul", "store_kv_cache", "topk_softmax"),
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
  const auto after = [&](const std::vector<RewriteStep>& steps) {
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

// What a kernel's data flow forbids is not among the legal actions: each kernel with the rules that are
// refused and words of the reason, and one that stays legal.
struct Illegal {
  const char* what;
  const char* body;
  std::vector<std::pair<std::string, std::string>> refused;
  std::string legal;
};

TEST(LegalActions, LoopCarriedValuesAndBarriersOfSomeThreadsForbid) {
  const std::vector<Illegal> kernels{
      {"a recurrence",
       "  float last = 0.f;\n"
       "  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n"
       "    last = last * 0.5f + in[i];\n"
       "    out[i] = last;\n"
       "  }\n",
       {{"expose-block-size", "goes on from round to round"},
        {"split-block", "goes on from round to round"},
        {"vectorize-loop", "goes on from round to round"}},
       "expose-unroll"},
      {"a running sum through a variable of the round",
       "  float sum = 0.f;\n"
       "  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n"
       "    sum += in[i];\n"
       "    const float mean = sum / (i + 1);\n"
       "    out[i] = mean;\n"
       "  }\n",
       {{"expose-block-size", "goes on from round to round"}, {"split-block", "goes on from round to round"}},
       "cache-hints"},
      {"a running count",
       "  int above = 0;\n"
       "  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n"
       "    above += in[i] > 0.f;\n"
       "    out[i] = above;\n"
       "  }\n",
       {{"expose-block-size", "goes on from round to round"}, {"split-block", "goes on from round to round"}},
       "cache-hints"},
      {"a barrier that some threads reach",
       "  __shared__ float tile[128];\n"
       "  tile[threadIdx.x] = threadIdx.x < d ? in[threadIdx.x] : 0.f;\n"
       "  if (threadIdx.x < d) {\n"
       "    __syncthreads();\n"
       "    out[threadIdx.x] = tile[127 - threadIdx.x];\n"
       "  }\n",
       {{"expose-block-size", ""},
        {"split-block", "communicate"},
        {"vectorize-element", ""},
        {"rows-per-block", ""}},
       "cache-hints"},
      // What looks alike and is legal: a variable that every round begins anew, and a sum that is read behind
      // the loop alone.
      {"a value of the round's own",
       "  float value;\n"
       "  for (int i = threadIdx.x; i < d; i += blockDim.x) {\n"
       "    value = in[i];\n"
       "    value = value * value;\n"
       "    out[i] = value;\n"
       "  }\n",
       {},
       "expose-block-size"}};
  const TemporaryFolder folder = std::move(*TemporaryFolder::create("actions-test"));
  for (const Illegal& kernel : kernels) {
    SubjectRequest request;
    request.source = folder.path() / "kernel.cu";
    request.kernel = "kernel";
    ASSERT_TRUE(
        write_file(
            request.source,
            "__global__ void kernel(float* __restrict__ out, const float* __restrict__ in, int d) {\n" +
                std::string(kernel.body) +
                "}\nvoid launch(float* out, const float* in, int n, int d) {\n"
                "  kernel<<<n, 128>>>(out, in, d);\n}\n")
            .ok());
    auto source = ParsedSource::parse(request.source, request.parse);
    ASSERT_TRUE(source.ok()) << source.error().sentence();
    const auto subject = prepare_subject(request, **source);
    ASSERT_TRUE(subject.ok()) << kernel.what << ": " << subject.error().sentence();
    const auto actions = agents::enumerate_actions(subject->raw, {});
    ASSERT_TRUE(actions.ok()) << actions.error().sentence();
    bool has_legal = false;
    for (const agents::Action& action : actions->legal) {
      has_legal |= action.rule == kernel.legal;
      for (const auto& [rule, words] : kernel.refused)
        EXPECT_NE(action.rule, rule) << kernel.what;
    }
    EXPECT_TRUE(has_legal) << kernel.what << ": " << kernel.legal;
    for (const auto& [rule, words] : kernel.refused) {
      const auto found = std::find_if(actions->refused.begin(), actions->refused.end(),
                                      [&](const agents::RefusedAction& each) { return each.rule == rule; });
      ASSERT_NE(found, actions->refused.end()) << kernel.what << ": " << rule;
      EXPECT_NE(found->reason.find(words), std::string::npos) << kernel.what << ": " << found->reason;
    }
  }
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
