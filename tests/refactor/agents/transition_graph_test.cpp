// The transition memory: scoring, retrieval, updates, persistence, merging, and the guard against negative
// transfer.
#include "refactor/agents/ablation.h"
#include "tests/refactor/agents/recorded.h"
#include "tuner/base/files.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace lathe::refactor::agents {
namespace {

using enum Direction;

const Features state{{"log2_blocks", 12}, {"loops", 1}};

Direction best_direction(const TransitionGraph& memory, const std::vector<Direction>& prefix,
                         const ScoreOptions& options) {
  Direction best = memory_access;
  for (std::size_t i = 1; i < direction_count; ++i)
    if (memory.score(static_cast<Direction>(i), state, prefix, options) >
        memory.score(best, state, prefix, options))
      best = static_cast<Direction>(i);
  return best;
}

// After Memory Access, Data Reuse gains; after Parallel Mapping, Instruction Throughput does.
TransitionGraph two_habits() {
  TransitionGraph memory;
  for (int i = 0; i < 20; ++i) {
    memory.update("k", {memory_access}, data_reuse, "keep", false, 0.6);
    memory.update("k", {parallel_mapping}, data_reuse, "keep", false, -0.6);
    memory.update("k", {parallel_mapping}, instruction_throughput, "unroll", false, 0.6);
    memory.update("k", {memory_access}, instruction_throughput, "unroll", false, -0.6);
  }
  return memory;
}

TEST(TransitionGraph, ThePrefixAloneChangesTheChoice) {
  const TransitionGraph memory = two_habits();
  EXPECT_EQ(best_direction(memory, {memory_access}, {}), data_reuse);
  EXPECT_EQ(best_direction(memory, {parallel_mapping}, {}), instruction_throughput);
}

TEST(TransitionGraph, WeightZeroIsNoPrefix) {
  const TransitionGraph memory = two_habits();
  ScoreOptions zero, none;
  zero.prefix_weights = {0, 0, 0};
  none.prefix_weights = {};
  for (std::size_t i = 0; i < direction_count; ++i)
    for (const auto& prefix : {std::vector<Direction>{}, {memory_access}, {parallel_mapping, data_reuse}})
      EXPECT_EQ(memory.score(static_cast<Direction>(i), state, prefix, zero),
                memory.score(static_cast<Direction>(i), state, {}, none));
}

TEST(TransitionGraph, RecentDirectionsWeighMore) {
  const TransitionGraph memory = two_habits();
  const double recent = memory.score(data_reuse, state, {memory_access, parallel_mapping}, {});
  const double older = memory.score(data_reuse, state, {parallel_mapping, memory_access}, {});
  EXPECT_GT(recent, older);
  ScoreOptions equal;
  equal.position_aware = false;
  EXPECT_DOUBLE_EQ(memory.score(data_reuse, state, {memory_access, parallel_mapping}, equal),
                   memory.score(data_reuse, state, {parallel_mapping, memory_access}, equal));
}

TEST(TransitionGraph, AFailingEdgeLosesItsRank) {
  TransitionGraph memory;
  for (int i = 0; i < 4; ++i)
    memory.update("k", {memory_access}, boundary_handling, "split", false, 0.5);
  ASSERT_EQ(best_direction(memory, {memory_access}, {}), boundary_handling);
  int updates = 0;
  while (best_direction(memory, {memory_access}, {}) == boundary_handling && updates < 20) {
    memory.update("k", {memory_access}, boundary_handling, "split", true, 0);
    ++updates;
  }
  EXPECT_LE(updates, 8);
}

TEST(TransitionGraph, OnlyStrategiesOfTheDirectionAreRetrieved) {
  const TransitionGraph memory = two_habits();
  EXPECT_EQ(memory.strategies(data_reuse, {}), std::vector<std::string>{"keep"});
  EXPECT_EQ(memory.strategies(instruction_throughput, {}), std::vector<std::string>{"unroll"});
  EXPECT_TRUE(memory.strategies(memory_access, {}).empty());
}

TEST(TransitionGraph, RoundTripsByteForByte) {
  const TransitionGraph memory = two_habits();
  auto folder = TemporaryFolder::create("memory-test");
  ASSERT_TRUE(folder.ok());
  const auto first = folder->path() / "a.json", second = folder->path() / "b.json";
  ASSERT_TRUE(write_memory(memory, first).ok());
  const auto again = read_memory(first);
  ASSERT_TRUE(again.ok()) << again.error().sentence();
  ASSERT_TRUE(write_memory(*again, second).ok());
  EXPECT_EQ(*read_file(first), *read_file(second));
  EXPECT_EQ(again->tries(), memory.tries());
}

TEST(TransitionGraph, MergingIsIdempotentAndCommutes) {
  TransitionGraph a = two_habits(), b;
  b.update("other", {data_reuse}, memory_access, "cache", false, 0.2);
  TransitionGraph ab = a, ba = b;
  ab.merge(b);
  ba.merge(a);
  EXPECT_EQ(ab.to_json().dump(), ba.to_json().dump());
  TransitionGraph twice = ab;
  twice.merge(b);
  twice.merge(a);
  EXPECT_EQ(twice.to_json().dump(), ab.to_json().dump());
  EXPECT_EQ(ab.tries(), a.tries() + 1);
}

TEST(TransitionGraph, ForeignFilesAreRefusedWithASentence) {
  const auto refused = [](const std::string& text) {
    const auto memory =
        TransitionGraph::from_json(nlohmann::ordered_json::parse(text, nullptr, false), "m.json");
    EXPECT_FALSE(memory.ok()) << text;
    return memory.ok() ? "" : memory.error().sentence();
  };
  EXPECT_NE(refused("{}").find("no memory"), std::string::npos);
  EXPECT_NE(refused("not json").find("m.json"), std::string::npos);
  auto json = two_habits().to_json();
  json["Schema"] = 99;
  EXPECT_NE(refused(json.dump()).find("another version"), std::string::npos);
  json = two_habits().to_json();
  json["Transitions"][0]["To"] = "Sideways";
  EXPECT_NE(refused(json.dump()).find("Sideways"), std::string::npos);
  json = two_habits().to_json();
  json["Strategies"][0]["Experience"]["k"] = {1, 5, 0.0}; // more failures than tries
  EXPECT_NE(refused(json.dump()).find("Experience"), std::string::npos);
  json = two_habits().to_json();
  json["Strategies"].push_back(json["Strategies"][0]);
  EXPECT_NE(refused(json.dump()).find("twice"), std::string::npos);
}

TEST(TransferGuard, TrustsWhatForetellsAndDropsWhatMisleads) {
  TransferGuard right, wrong;
  for (int i = 0; i < 6; ++i) {
    const double gain = i % 2 ? 0.5 : -0.1;
    right.observe(gain, gain);
    wrong.observe(-gain, gain);
  }
  EXPECT_GT(right.trust(), 0.9);
  EXPECT_TRUE(wrong.is_off());
}

// On a made-up tree whose gains a randomised memory misleads about: final results are not worse than without
// one by more than the noise of the seeds.
TEST(TransferGuard, ARandomMemoryIsNoWorseThanNone) {
  std::vector<OfflineTree> trees;
  for (int i = 0; i < 4; ++i)
    trees.push_back(testing::subset_tree("k" + std::to_string(i), testing::usual_actions(0.8 + 0.1 * i)));
  AblationPlan plan;
  plan.attempts = 15;
  plan.seeds.clear();
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    plan.seeds.push_back(seed);
  plan.arms = {{.name = "random", .planner = "memory", .memory = Arm::Memory::random},
               {.name = "none", .planner = "uniform"},
               {.name = "warm", .planner = "memory", .memory = Arm::Memory::warm}};
  const auto result = run_ablation(trees, plan, [](const std::string&) {});
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  const auto means = [&](std::size_t arm) {
    const std::vector<double> all = geometric_means(result->arms[arm], plan);
    double sum = 0;
    for (const double each : all)
      sum += each;
    return sum / static_cast<double>(all.size());
  };
  EXPECT_GT(means(0), means(1) * 0.97);
  EXPECT_GT(means(2), means(1) * 0.99);
  EXPECT_LT(attempts_to_near(result->arms[2], plan).median, attempts_to_near(result->arms[1], plan).median);
}

} // namespace
} // namespace lathe::refactor::agents
