// The macro policy, its reward and its training.
#include "refactor/agents/planner.h"
#include "tests/refactor/agents/recorded.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <numeric>

namespace lathe::refactor::agents {
namespace {

TEST(Reward, IsThePapersStages) {
  RewardOptions paper;
  paper.decay = 0;
  paper.gain_weight = 0;
  EXPECT_DOUBLE_EQ(staged_reward(Stage::not_written, 0, 1, 1, paper), -1.0);
  EXPECT_DOUBLE_EQ(staged_reward(Stage::refused, 0, 1, 1, paper), 0.1 - 0.5);
  EXPECT_DOUBLE_EQ(staged_reward(Stage::not_run, 0, 1, 1, paper), 0.1 - 0.5);
  EXPECT_DOUBLE_EQ(staged_reward(Stage::measured, 1.0, 1.0, 1, paper), 0.1 + 0.5);
  EXPECT_DOUBLE_EQ(staged_reward(Stage::measured, 1.005, 1.0, 1, paper), 0.1 + 0.5) << "within the noise";
  EXPECT_DOUBLE_EQ(staged_reward(Stage::measured, 1.2, 1.0, 1, paper), 0.1 + 0.5 + 1.0);
  EXPECT_DOUBLE_EQ(staged_reward(Stage::measured, 1.2, 1.5, 1, paper), 0.1 + 0.5)
      << "faster than raw, not than before";
}

TEST(Reward, LaterStepsEarnLess) {
  const RewardOptions options;
  EXPECT_GT(staged_reward(Stage::measured, 1.2, 1.0, 1, options),
            staged_reward(Stage::measured, 1.2, 1.0, 4, options));
}

TEST(Reward, ACycleHasNegativeReturn) {
  const RewardOptions options;
  const auto total = [&](const std::vector<RewardedStep>& steps) {
    const auto rewards = sequence_rewards("A", steps, options);
    return std::accumulate(rewards.begin(), rewards.end(), 0.0);
  };
  const RewardedStep to_b{"B", Stage::measured, 2.0}, to_a{"A", Stage::measured, 1.0},
      to_c{"C", Stage::measured, 3.0};
  EXPECT_LT(total({to_b, to_a}), 0);
  EXPECT_LT(total({to_b, to_c, to_a}), 0);
  EXPECT_LT(total({to_b, to_a, to_b, to_a}), total({to_b, to_a}));
  EXPECT_GT(total({to_b, to_c}), 0);
}

TEST(Policy, ProbabilitiesSumToOneAndUntrainedIsUniform) {
  std::vector<Action> legal;
  for (const auto& [action, gain] : testing::usual_actions())
    legal.push_back(action);
  Policy policy;
  auto probabilities = softmax(policy.logits({}, {}, legal), 1);
  for (const double probability : probabilities)
    EXPECT_NEAR(probability, 1.0 / static_cast<double>(legal.size()), 1e-12);
  for (std::size_t i = 0; i < policy.weights.size(); ++i)
    policy.weights[i] = 0.01 * static_cast<double>(i % 17) - 0.05;
  probabilities = softmax(policy.logits({{"log2_blocks", 3}}, {legal[0]}, legal), 1);
  EXPECT_NEAR(std::accumulate(probabilities.begin(), probabilities.end(), 0.0), 1, 1e-12);
}

TEST(Policy, IsReadBackEqualAndRefusesOtherActions) {
  Policy policy;
  policy.weights[3] = 0.1 + 0.2;
  policy.provenance = "by hand";
  const auto json = policy.to_json();
  const auto again = Policy::from_json(json, "p.json");
  ASSERT_TRUE(again.ok()) << again.error().sentence();
  EXPECT_EQ(again->weights, policy.weights);
  EXPECT_EQ(again->to_json().dump(), json.dump());
  auto other = json;
  other["Weights"].erase("whole rule");
  other["Weights"]["a rule of tomorrow * always"] = 1.0;
  const auto refused = Policy::from_json(other, "p.json");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().sentence().find("other actions"), std::string::npos);
  EXPECT_FALSE(Policy::from_json(nlohmann::ordered_json::parse("[]"), "p.json").ok());
}

// The weights that ship were trained on the rules that there are.
TEST(Policy, TheShippedOneIsOfTheseActions) {
  const char* source = std::getenv("LATHE_SOURCE_DIR");
  if (source == nullptr)
    GTEST_SKIP() << "needs the repository";
  const auto shipped = read_policy(std::filesystem::path(source) / "refactor/agents/data/policy.json");
  ASSERT_TRUE(shipped.ok()) << shipped.error().sentence();
  EXPECT_FALSE(shipped->provenance.empty());
}

TEST(Training, LearnsWhatGainsOnOtherKernels) {
  std::vector<OfflineTree> trees;
  for (int i = 0; i < 3; ++i)
    trees.push_back(testing::subset_tree("k" + std::to_string(i), testing::usual_actions(0.8 + 0.2 * i)));
  TrainingOptions options;
  options.rounds = 40;
  options.steps = 3;
  const auto trained = train_policy(trees, options);
  ASSERT_TRUE(trained.ok()) << trained.error().sentence();
  EXPECT_GT(trained->curve.mean_return.back(), trained->curve.mean_return.front());
  const OfflineTree unseen = testing::subset_tree("new", testing::usual_actions(0.7));
  std::vector<Action> legal;
  for (const RecordedEdge& edge : unseen.states[0].edges)
    legal.push_back(edge.action);
  const auto probabilities = softmax(trained->policy.logits(recorded_facts(unseen, 0), {}, legal), 1);
  EXPECT_GT(probabilities[0], 2.0 / static_cast<double>(legal.size())) << "split-block gains most";
  EXPECT_LT(probabilities[5], probabilities[0]) << "rows-per-block loses";
  const auto same = train_policy(trees, options);
  EXPECT_EQ(same->policy.weights, trained->policy.weights) << "deterministic under the seed";
}

TEST(Training, WithoutTimesIsRefused) {
  OfflineTree tree = testing::subset_tree("k", testing::usual_actions());
  for (RecordedState& each : tree.states)
    each.speedup.clear();
  EXPECT_FALSE(train_policy({tree}, {}).ok());
}

} // namespace
} // namespace lathe::refactor::agents
