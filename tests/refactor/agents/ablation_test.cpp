// Arms at equal budgets: what is counted, what is left out, and that plans are checked.
#include "refactor/agents/ablation.h"
#include "tests/refactor/agents/recorded.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace lathe::refactor::agents {
namespace {

std::vector<OfflineTree> three_kernels() {
  return {testing::subset_tree("a", testing::usual_actions(0.8)),
          testing::subset_tree("b", testing::usual_actions(1)),
          testing::subset_tree("c", testing::usual_actions(1.2))};
}

AblationPlan small_plan(std::vector<Arm> arms) {
  AblationPlan plan;
  plan.arms = std::move(arms);
  plan.attempts = 12;
  plan.training.rounds = 25;
  return plan;
}

Result<AblationResult> run(const AblationPlan& plan) {
  return run_ablation(three_kernels(), plan, [](const std::string&) {});
}

TEST(Ablation, EveryArmGetsTheSameAttempts) {
  AblationPlan plan = small_plan(default_arms());
  plan.seeds = {1, 2};
  const auto result = run(plan);
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  ASSERT_EQ(result->arms.size(), default_arms().size());
  for (const ArmResult& arm : result->arms) {
    ASSERT_EQ(arm.runs.size(), 6u) << "three kernels, two seeds";
    for (const ArmRun& one : arm.runs) {
      if (!arm.arm.equal_runs) {
        EXPECT_LE(one.attempts, 12) << arm.arm.name;
      }
      EXPECT_EQ(one.best.size(), static_cast<std::size_t>(one.attempts));
      EXPECT_TRUE(std::is_sorted(one.best.begin(), one.best.end())) << "best so far";
      EXPECT_LE(one.final_speedup(), one.optimum * 1.0001) << arm.arm.name;
      EXPECT_GT(one.timed_runs, 0);
    }
  }
}

TEST(Ablation, IsDeterministic) {
  const AblationPlan plan =
      small_plan({{.name = "policy", .planner = "policy", .memory = Arm::Memory::warm}});
  const auto first = run(plan), second = run(plan);
  ASSERT_TRUE(first.ok() && second.ok());
  for (std::size_t i = 0; i < first->arms[0].runs.size(); ++i)
    EXPECT_EQ(first->arms[0].runs[i].best, second->arms[0].runs[i].best);
}

TEST(Ablation, WhatWasLearntElsewhereHalvesTheAttempts) {
  AblationPlan plan = small_plan({{.name = "policy", .planner = "policy", .memory = Arm::Memory::warm},
                                  {.name = "uniform", .planner = "uniform"}});
  plan.attempts = 40;
  const auto result = run(plan);
  ASSERT_TRUE(result.ok());
  EXPECT_LE(attempts_to_near(result->arms[0], plan).median * 2,
            attempts_to_near(result->arms[1], plan).median);
}

TEST(Ablation, FewerStepsCannotGoDeeper) {
  AblationPlan plan = small_plan({{.name = "1", .steps = 1}, {.name = "6"}});
  plan.attempts = 60;
  plan.selection.root_children = 100;
  const auto result = run(plan);
  ASSERT_TRUE(result.ok());
  for (std::size_t i = 0; i < result->arms[0].runs.size(); ++i)
    EXPECT_LT(result->arms[0].runs[i].final_speedup(), result->arms[1].runs[i].final_speedup());
}

TEST(Ablation, TreesWithoutTimesAreNoEvidence) {
  auto trees = three_kernels();
  trees[0].device.clear();
  trees[1].device.clear();
  const auto result = run_ablation(trees, small_plan(default_arms()), [](const std::string&) {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().sentence().find("fewer than two"), std::string::npos);
}

TEST(Ablation, PlansAreChecked) {
  const auto parse = [](const char* text) {
    return plan_from_json(nlohmann::ordered_json::parse(text, nullptr, false));
  };
  const auto plain = parse("{}");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->arms.size(), default_arms().size());
  EXPECT_GE(plain->seeds.size(), 5u);
  const auto one =
      parse(R"({"Attempts": 7, "Arms": [{"Name": "x", "Planner": "memory", "Memory": "flat", "Steps": 3}]})");
  ASSERT_TRUE(one.ok()) << one.error().sentence();
  EXPECT_EQ(one->attempts, 7);
  EXPECT_EQ(one->arms[0].memory, Arm::Memory::flat);
  for (const char* text :
       {"[]", R"({"Attempts": 0})", R"({"Seeds": []})", R"({"Arms": []})",
        R"({"Arms": [{"Planner": "memory"}]})", R"({"Arms": [{"Name": "x", "Memory": "vivid"}]})",
        R"({"Arms": [{"Name": "x", "Walk": "run"}]})", R"({"Arms": [{"Name": "x", "Steps": 0}]})"}) {
    const auto refused = parse(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().failure, Failure::usage);
  }
}

} // namespace
} // namespace lathe::refactor::agents
