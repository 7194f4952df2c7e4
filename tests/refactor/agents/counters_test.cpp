// Counters of the raw kernel as features: what is told, what is not known, and what follows from them.
#include "refactor/agents/counters.h"
#include "refactor/agents/policy.h"
#include "refactor/agents/transition_graph.h"
#include "tests/refactor/agents/recorded.h"
#include "tuner/profile/profile.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lathe::refactor::agents {
namespace {

double value(const Features& features, const std::string& name) {
  const auto found =
      std::find_if(features.begin(), features.end(), [&](const auto& each) { return each.first == name; });
  return found == features.end() ? -1 : found->second;
}

TEST(Counters, AreSharesByNamesOfTheirOwn) {
  Profile profile;
  profile.dram = 0.7;
  profile.sm_active = 0.9;
  profile.stall["long_scoreboard"] = 0.4;
  const Features features = counter_features(profile_counters(profile));
  EXPECT_DOUBLE_EQ(value(features, "dram_share"), 0.7);
  EXPECT_DOUBLE_EQ(value(features, "active_share"), 0.9);
  EXPECT_DOUBLE_EQ(value(features, "memory_wait"), 0.4);
  EXPECT_DOUBLE_EQ(value(features, "issue_share"), 0);
  EXPECT_TRUE(counter_features({}).empty());
}

TEST(Counters, TheirMeanIsOfTheProblemsThatHaveThem) {
  const Features mean = mean_of({{{"a", 1}, {"b", 2}}, {}, {{"a", 3}, {"b", 4}}});
  EXPECT_EQ(mean, (Features{{"a", 2}, {"b", 3}}));
  EXPECT_TRUE(mean_of({{}, {}}).empty());
}

OfflineTree tree_with_counters() {
  OfflineTree tree = testing::subset_tree("k", testing::usual_actions());
  tree.problem_counters = {{{"dram_share", 0.9}, {"active_share", 1}}};
  return tree;
}

TEST(Counters, OfATreeAreFactsOfItsStatesAndReadBackEqual) {
  const OfflineTree tree = tree_with_counters();
  EXPECT_DOUBLE_EQ(value(recorded_facts(tree, 0), "dram_share"), 0.9);
  const auto json = to_json(tree);
  const auto again = tree_from_json(json, "t.json");
  ASSERT_TRUE(again.ok()) << again.error().sentence();
  EXPECT_EQ(to_json(*again).dump(), json.dump());
  auto broken = json;
  broken["ProblemCounters"].push_back(broken["ProblemCounters"][0]);
  EXPECT_FALSE(tree_from_json(broken, "t.json").ok()) << "more lists than problems";
}

TEST(Counters, OfAnAnswerGoIntoTheTree) {
  OfflineTree tree = testing::subset_tree("k", testing::usual_actions());
  tree.states[1].request = "r1";
  tree.device.clear();
  QueueAnswers answers;
  QueueAnswer& answer = answers.accepted["r1"];
  answer.device = "GPU";
  QueueScore score;
  score.problem = {{"n", 1}};
  score.raw_us = 10, score.best_us = 5, score.ratio = 2;
  score.raw_counters = {{"Dram", 0.25}};
  answer.scores = {score};
  ASSERT_TRUE(adopt_answers(tree, answers).ok());
  ASSERT_EQ(tree.problem_counters.size(), 1u);
  EXPECT_DOUBLE_EQ(value(tree.problem_counters[0], "dram_share"), 0.25);
}

TEST(Counters, MovePriorsTowardsWhatTheyShow) {
  const TransitionGraph memory;
  const auto score = [&](Direction direction, const Features& state) {
    return memory.score(direction, state, {}, {});
  };
  const Features idle{{"log2_blocks", 10}, {"active_share", 0.3}},
      full{{"log2_blocks", 10}, {"active_share", 1}};
  EXPECT_GT(score(Direction::parallel_mapping, idle), score(Direction::parallel_mapping, full));
  const Features waits{{"memory_wait", 0.9}, {"dram_share", 0.1}},
      streams{{"memory_wait", 0.9}, {"dram_share", 0.9}};
  EXPECT_GT(score(Direction::memory_access, waits), score(Direction::memory_access, streams));
  const Features issues{{"issue_share", 0.8}};
  EXPECT_GT(score(Direction::instruction_throughput, issues), score(Direction::instruction_throughput, {}));
}

} // namespace
} // namespace lathe::refactor::agents
