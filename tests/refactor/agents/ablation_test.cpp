// Arms at equal budgets: what is counted, what is left out, and that plans are checked.
#include "refactor/agents/ablation.h"
#include "tests/refactor/agents/recorded.h"
#include "tuner/base/files.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

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

// Rewriting without templates gets as many timed runs as the searches of templates took, and uses them up: a
// change that was tried once may be tried with other numbers.
TEST(Ablation, EqualTimedRunsAreEqual) {
  AblationPlan plan = small_plan({{.name = "search"},
                                  {.name = "direct", .direct = true},
                                  {.name = "direct, equal runs", .direct = true, .equal_runs = true}});
  const auto result = run(plan);
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  for (std::size_t i = 0; i < result->arms[0].runs.size(); ++i) {
    const ArmRun &search = result->arms[0].runs[i], &attempts = result->arms[1].runs[i],
                 &runs = result->arms[2].runs[i];
    EXPECT_EQ(search.attempts, attempts.attempts);
    EXPECT_EQ(search.timed_runs, runs.timed_runs);
    EXPECT_GT(runs.attempts, attempts.attempts);
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

// Answers as a language model does: the actions' names are the likelier the earlier they stand.
constexpr const char* MODEL =
    "command:awk '{ sub(/.*\"continuations\":\\[/, \"\"); sub(/\\].*/, \"\"); n = gsub(/\",\"/, \"\") + 1; "
    "printf \"{\\\"log_probabilities\\\":[\"; for (i = 1; i <= n; ++i) printf \"%s-%d\", i > 1 ? \",\" : "
    "\"\", "
    "3 * i; print \"]}\" }'";

TEST(Ablation, AnArmsModelIsAskedAndCounted) {
  Arm arm{.name = "model", .planner = "policy", .policy = MODEL};
  AblationPlan plan = small_plan({arm, {.name = "heuristic", .planner = "heuristic"}});
  plan.seeds = {1};
  const auto result = run(plan);
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  EXPECT_EQ(result->training_seconds, 0) << "nothing learns where a model is the only policy";
  for (const ArmRun& one : result->arms[0].runs) {
    EXPECT_EQ(one.calls, one.attempts) << "one question an attempt";
    EXPECT_GT(one.tokens, one.calls) << "at least those of the prompts";
  }
  for (const ArmRun& one : result->arms[1].runs)
    EXPECT_EQ(one.calls + one.tokens, 0);
}

TEST(Ablation, AnArmsModelChooses) {
  // Of the first offered actions alone, and of a choice by lot.
  AblationPlan plan = small_plan({{.name = "model", .planner = "policy", .steps = 1, .policy = MODEL},
                                  {.name = "uniform", .planner = "uniform", .steps = 1}});
  plan.attempts = 1;
  plan.seeds = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto result = run(plan);
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  const auto kinds = [&](const ArmResult& of) {
    std::set<double> seen;
    for (const ArmRun& one : of.runs)
      if (one.kernel == "b")
        seen.insert(one.final_speedup());
    return seen.size();
  };
  EXPECT_LT(kinds(result->arms[0]), kinds(result->arms[1]));
}

TEST(Ablation, AnArmsBudgetIsThatOfAllItsRuns) {
  Arm arm{.name = "model", .planner = "policy", .policy = MODEL};
  arm.policy_budget.calls = 5;
  AblationPlan plan = small_plan({arm});
  plan.seeds = {1};
  const auto result = run(plan);
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  std::int64_t calls = 0;
  for (const ArmRun& one : result->arms[0].runs) {
    calls += one.calls;
    EXPECT_EQ(one.attempts, 12) << "the arm goes on without its model";
  }
  EXPECT_EQ(calls, 5);
}

TEST(Ablation, PlansNameModels) {
  const auto read = [](const std::string& arm) {
    return plan_from_json(nlohmann::ordered_json::parse("{\"Arms\": [" + arm + "]}"));
  };
  const auto plan = read(R"({"Name": "m", "Planner": "policy", "Policy": "command:cat", "PolicyCalls": 7,
                             "PolicyTokens": 900, "PolicyTemperature": 0.5})");
  ASSERT_TRUE(plan.ok()) << plan.error().sentence();
  EXPECT_EQ(plan->arms[0].policy, "command:cat");
  EXPECT_EQ(plan->arms[0].policy_budget.calls, 7);
  EXPECT_EQ(plan->arms[0].policy_budget.tokens, 900);
  EXPECT_EQ(plan->arms[0].policy_temperature, 0.5);
  for (const auto& [arm, why] : std::map<std::string, std::string>{
           {R"({"Name": "m", "Planner": "policy", "Policy": "weights.json"})", "names no language model"},
           {R"({"Name": "m", "Planner": "memory", "Policy": "command:cat"})", "its planner is memory"},
           {R"({"Name": "m", "Planner": "policy", "PolicyCalls": 7})", "PolicyCalls is without a Policy"},
           {R"({"Name": "m", "Planner": "policy", "Policy": "command:cat", "PolicyTokens": 0})", "below 1"},
           {R"({"Name": "m", "Planner": "policy", "Policy": "command:cat", "PolicyTemperature": 0})",
            "above 0"}}) {
    const auto refused = read(arm);
    ASSERT_FALSE(refused.ok()) << arm;
    EXPECT_NE(refused.error().sentence().find(why), std::string::npos) << refused.error().sentence();
  }
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

// HTAM's eight arms and STARK's five, all from the one plan that ships.
TEST(Ablation, TheShippedPlanHasThePapersArms) {
  const char* source = std::getenv("LATHE_SOURCE_DIR");
  if (source == nullptr)
    GTEST_SKIP() << "needs the repository";
  const auto text = read_file(std::filesystem::path(source) / "refactor/agents/data/ablation.json");
  ASSERT_TRUE(text.ok());
  const auto plan = plan_from_json(nlohmann::ordered_json::parse(*text, nullptr, false));
  ASSERT_TRUE(plan.ok()) << plan.error().sentence();
  EXPECT_GE(plan->seeds.size(), 5u);
  const auto has = [&](const auto& wanted) {
    return std::any_of(plan->arms.begin(), plan->arms.end(), wanted);
  };
  using enum Arm::Memory;
  for (const Arm::Memory memory : {none, cold, warm, random, frozen, flat, no_local})
    EXPECT_TRUE(has([&](const Arm& arm) { return arm.memory == memory; })) << static_cast<int>(memory);
  EXPECT_TRUE(has([](const Arm& arm) { return !arm.use_prefix; }));
  EXPECT_TRUE(has([](const Arm& arm) { return !arm.position_aware; }));
  EXPECT_TRUE(has([](const Arm& arm) { return !arm.guard; }));
  for (const int steps : {1, 3, 6})
    EXPECT_TRUE(has([&](const Arm& arm) { return arm.steps == steps; })) << steps;
  for (const char* planner : {"uniform", "heuristic", "memory", "policy"})
    EXPECT_TRUE(has([&](const Arm& arm) { return arm.planner == planner; })) << planner;
  EXPECT_TRUE(has([](const Arm& arm) { return arm.direct && !arm.equal_runs; }));
  EXPECT_TRUE(has([](const Arm& arm) { return arm.direct && arm.equal_runs; }));
  // Sampling, Reflexion, search only, roles only.
  EXPECT_TRUE(has([](const Arm& arm) { return arm.walk == "one-shot"; }));
  EXPECT_TRUE(has([](const Arm& arm) { return arm.walk == "chain" && arm.memory == cold; }));
  EXPECT_TRUE(has([](const Arm& arm) { return arm.walk == "tree" && arm.planner == "uniform"; }));
  EXPECT_TRUE(has([](const Arm& arm) { return arm.walk == "chain" && arm.planner == "policy"; }));
  // What is built in where a plan names no arms is the same list.
  ASSERT_EQ(plan->arms.size(), default_arms().size());
  for (std::size_t i = 0; i < plan->arms.size(); ++i)
    EXPECT_EQ(plan->arms[i].name, default_arms()[i].name);
}

// A switch that changes no choice is none: each form of the memory draws its own.
TEST(Ablation, EveryFormOfTheMemoryChoosesOtherwise) {
  // Two strategies of one direction, of which one gains; a direction whose only strategy loses.
  const auto actions = testing::usual_actions();
  TransitionGraph memory;
  for (int i = 0; i < 30; ++i)
    for (const auto& [action, gain] : actions)
      memory.update("elsewhere", {Direction::data_reuse}, action.direction, action.strategy(), gain < 0,
                    gain);
  const SearchTree tree("raw");
  std::vector<Action> legal;
  for (const auto& [action, gain] : actions)
    legal.push_back(action);
  Situation situation = situation_of(tree, root_node, {}, legal);
  situation.prefix = {Direction::data_reuse, Direction::memory_access};
  const auto shares = [&](auto change) {
    MemoryOptions options;
    options.update = false;
    options.guard = false;
    options.temperature = 0.1;
    change(options);
    const auto planner = make_memory_planner(memory, options);
    std::mt19937_64 random(11);
    std::vector<int> counts(legal.size());
    for (int i = 0; i < 20000; ++i)
      ++counts[planner->plan(situation, random)->choice];
    return counts;
  };
  const std::vector<std::vector<int>> all{
      shares([](MemoryOptions&) {}),
      shares([](MemoryOptions& options) { options.form = MemoryOptions::Form::flat; }),
      shares([](MemoryOptions& options) { options.form = MemoryOptions::Form::directions_only; }),
      shares([](MemoryOptions& options) { options.use_prefix = false; }),
      shares([](MemoryOptions& options) { options.position_aware = false; })};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_NE(all[i], all[j]) << i << " and " << j;
  // Without local strategies those of one direction are alike: cache hints and a vector width.
  EXPECT_NEAR(all[2][2], all[2][6], 5 * std::sqrt(all[2][2] + all[2][6] + 1.0));
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
        R"({"Arms": [{"Name": "x", "Walk": "run"}]})", R"({"Arms": [{"Name": "x", "Steps": 0}]})",
        R"({"Arms": [{"Name": "x", "Direct": "yes"}]})", R"({"Arms": [{"Name": "x", "Prefx": false}]})",
        R"({"Arms": [7]})", R"({"Seeds": [-1]})", R"({"Seeds": [1.5]})", R"({"Attempts": 4294967297})",
        R"({"Atempts": 7})"}) {
    const auto refused = parse(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().failure, Failure::usage);
  }
}

} // namespace
} // namespace lathe::refactor::agents
