// The loop on recorded trees: budgets, stop rules, resumption, and who decides what.
#include "refactor/agents/recorded_environment.h"
#include "tests/refactor/agents/recorded.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace lathe::refactor::agents {
namespace {

const std::atomic<bool> never{false};

LoopEnd run(const OfflineTree& recorded, SearchTree& tree, const LoopOptions& options,
            int stop_after = 1 << 30) {
  RecordedEnvironment environment(recorded);
  const auto planner = make_uniform_planner();
  std::atomic<bool> stop{false};
  const auto end = run_loop(environment, *planner, tree, options, stop, [&](const AttemptReport& report) {
    stop = report.node >= stop_after;
    return Status(Done{});
  });
  EXPECT_TRUE(end.ok()) << (end.ok() ? "" : end.error().sentence());
  return end.ok() ? *end : LoopEnd{};
}

LoopOptions options_of(int attempts) {
  LoopOptions options;
  options.attempts = attempts;
  options.floor_share = 2;
  return options;
}

TEST(Loop, StopsAtItsBudget) {
  const OfflineTree recorded = testing::subset_tree("k", testing::usual_actions());
  SearchTree tree(recorded.states[0].key);
  const LoopEnd end = run(recorded, tree, options_of(12));
  EXPECT_EQ(end.attempts, 12);
  EXPECT_EQ(tree.size(), 13u);
  EXPECT_NE(end.why.find("budget"), std::string::npos);
}

TEST(Loop, StepsBoundTheDepth) {
  const OfflineTree recorded = testing::subset_tree("k", testing::usual_actions());
  for (const int steps : {1, 3}) {
    LoopOptions options = options_of(25);
    options.steps = steps;
    options.selection.root_children = 100;
    SearchTree tree(recorded.states[0].key);
    run(recorded, tree, options);
    for (const Node& node : tree.nodes())
      EXPECT_LE(tree.depth(node.id), steps);
  }
}

TEST(Loop, TheBestNeverGetsWorse) {
  const OfflineTree recorded = testing::subset_tree("k", testing::usual_actions());
  SearchTree tree(recorded.states[0].key);
  double best = 1;
  RecordedEnvironment environment(recorded);
  const auto planner = make_uniform_planner();
  const auto end = run_loop(environment, *planner, tree, options_of(20), never, [&](const AttemptReport&) {
    const double now = tree.node(tree.best()).score;
    EXPECT_LE(now, best);
    best = now;
    return Status(Done{});
  });
  ASSERT_TRUE(end.ok());
}

TEST(Loop, AResumedRunMakesTheAttemptsThatItWouldHaveMade) {
  const OfflineTree recorded = testing::subset_tree("k", testing::usual_actions());
  SearchTree whole(recorded.states[0].key);
  run(recorded, whole, options_of(15));
  for (const int cut : {1, 4, 9}) {
    SearchTree part(recorded.states[0].key);
    run(recorded, part, options_of(15), cut);
    ASSERT_EQ(part.size(), static_cast<std::size_t>(cut) + 1);
    auto kept = SearchTree::from_json(nlohmann::ordered_json::parse(part.to_json().dump()));
    ASSERT_TRUE(kept.ok());
    run(recorded, *kept, options_of(15));
    EXPECT_EQ(kept->to_json().dump(), whole.to_json().dump()) << "cut after " << cut;
  }
}

// With a memory, too: what it knows is in its file, how far it is trusted in the planner's state.
TEST(Loop, AResumedRunWithAMemoryGoesOnAsItWould) {
  const OfflineTree recorded = testing::subset_tree("k", testing::usual_actions());
  // Strategies that gained elsewhere lose here, so that trust falls.
  TransitionGraph misled;
  for (const auto& [action, gain] : testing::usual_actions())
    for (int i = 0; i < 10; ++i)
      misled.update("elsewhere", {}, action.direction, action.strategy(), false, -gain);
  struct Sitting {
    TransitionGraph memory;
    std::vector<double> state;
    SearchTree tree;
  };
  const auto sit = [&](Sitting& sitting, int stop_after) {
    RecordedEnvironment environment(recorded);
    MemoryOptions memory;
    memory.source = "k";
    const auto planner = make_memory_planner(sitting.memory, memory);
    planner->restore(sitting.state);
    std::atomic<bool> stop{false};
    const auto end =
        run_loop(environment, *planner, sitting.tree, options_of(15), stop, [&](const AttemptReport& report) {
          stop = report.node >= stop_after;
          return Status(Done{});
        });
    ASSERT_TRUE(end.ok());
    sitting.state = planner->state();
  };
  Sitting whole{misled, {}, SearchTree(recorded.states[0].key)};
  sit(whole, 100);
  ASSERT_FALSE(whole.state.empty());
  for (const int cut : {2, 7, 12}) {
    Sitting part{misled, {}, SearchTree(recorded.states[0].key)};
    sit(part, cut);
    ASSERT_EQ(part.tree.size(), static_cast<std::size_t>(cut) + 1);
    auto memory =
        TransitionGraph::from_json(nlohmann::ordered_json::parse(part.memory.to_json().dump()), "m.json");
    auto tree = SearchTree::from_json(nlohmann::ordered_json::parse(part.tree.to_json().dump()));
    ASSERT_TRUE(memory.ok() && tree.ok());
    Sitting resumed{std::move(*memory), part.state, std::move(*tree)};
    sit(resumed, 100);
    EXPECT_EQ(resumed.tree.to_json().dump(), whole.tree.to_json().dump()) << "cut after " << cut;
    EXPECT_EQ(resumed.memory.to_json().dump(), whole.memory.to_json().dump());
  }
}

TEST(Loop, StopsOnAPlateau) {
  auto flat = testing::usual_actions();
  for (auto& [action, gain] : flat)
    gain = 0;
  const OfflineTree recorded = testing::subset_tree("k", flat);
  LoopOptions options = options_of(30);
  options.plateau = 5;
  SearchTree tree(recorded.states[0].key);
  const LoopEnd end = run(recorded, tree, options);
  EXPECT_EQ(end.attempts, 5);
}

TEST(Loop, StopsWhereACopyIsNoFaster) {
  OfflineTree recorded = testing::subset_tree("k", testing::usual_actions());
  for (RecordedState& state : recorded.states)
    state.floor_share = {state.speedup[0] > 1.2 ? 0.99 : 0.5};
  LoopOptions options = options_of(40);
  options.floor_share = 0.98;
  SearchTree tree(recorded.states[0].key);
  const LoopEnd end = run(recorded, tree, options);
  EXPECT_LT(end.attempts, 40);
  EXPECT_NE(end.why.find("copy"), std::string::npos);
}

TEST(Loop, NoActionIsTriedTwiceAndFailuresAreKept) {
  OfflineTree recorded = testing::subset_tree("k", testing::usual_actions());
  recorded.states[0].edges[2].child = RecordedEdge::failed;
  recorded.states[0].edges[2].failure = "does not parse";
  LoopOptions options = options_of(60);
  options.walk = LoopOptions::Walk::restart;
  SearchTree tree(recorded.states[0].key);
  EXPECT_EQ(run(recorded, tree, options).attempts, 7) << "every action of the raw kernel, each once";
  std::set<std::string> seen;
  int broken = 0;
  for (const Node& node : tree.nodes()) {
    if (node.is_broken()) {
      ++broken;
      EXPECT_EQ(node.diagnostics, "does not parse");
      EXPECT_TRUE(node.children.empty()) << "rules cannot mend";
    } else {
      EXPECT_TRUE(seen.insert(node.candidate).second) << node.candidate;
    }
  }
  EXPECT_EQ(broken, 1);
}

// A planner that claims wonders: the score is the environment's.
TEST(Loop, NothingThatAPlannerSaysIsAScore) {
  struct Boaster : Planner {
    std::string name() const override { return "boaster"; }
    Result<Plan> plan(const Situation& situation, std::mt19937_64&) override {
      Plan plan;
      plan.choice = 5; // rows-per-block: it loses
      plan.action = situation.legal[std::min<std::size_t>(5, situation.legal.size() - 1)];
      plan.reason = "this is correct, passes the guard and is 100x faster";
      return plan;
    }
  } boaster;
  const OfflineTree recorded = testing::subset_tree("k", testing::usual_actions());
  RecordedEnvironment environment(recorded);
  SearchTree tree(recorded.states[0].key);
  const auto end = run_loop(environment, boaster, tree, options_of(1), never,
                            [](const AttemptReport&) { return Status(Done{}); });
  ASSERT_TRUE(end.ok());
  EXPECT_LT(tree.node(1).speedup(), 1);
  EXPECT_EQ(tree.best(), root_node);
}

// Candidates that somebody else measures: scores come when they are delivered.
class Elsewhere : public RecordedEnvironment {
public:
  using RecordedEnvironment::RecordedEnvironment;
  Result<Node> attempt(const SearchTree& tree, NodeId parent, const Plan& plan) override {
    LATHE_TRY(Node node, RecordedEnvironment::attempt(tree, parent, plan));
    if (!node.is_measured())
      return node;
    measured_[node.candidate] = node;
    node.stage = Stage::awaited;
    node.score = std::numeric_limits<double>::infinity();
    node.speedups.clear();
    node.floor_share.clear();
    return node;
  }
  Result<Node> outcome(const SearchTree& tree, NodeId awaited) override {
    ++asked;
    const Node& node = tree.node(awaited);
    return delivers ? measured_.at(node.candidate) : node;
  }
  bool delivers = false;
  int asked = 0;

private:
  std::map<std::string, Node> measured_;
};

TEST(Loop, WaitsForScoresAndPlansNothingTwice) {
  const OfflineTree recorded = testing::subset_tree("k", testing::usual_actions());
  Elsewhere environment(recorded);
  const auto planner = make_uniform_planner();
  SearchTree tree(recorded.states[0].key);
  LoopOptions options = options_of(6);
  options.awaited = 4;
  const auto go_on = [&] {
    const auto end = run_loop(environment, *planner, tree, options, never,
                              [](const AttemptReport&) { return Status(Done{}); });
    EXPECT_TRUE(end.ok());
    return *end;
  };
  EXPECT_EQ(go_on().awaited, 4);
  EXPECT_EQ(tree.best(), root_node) << "what is awaited leads nothing";
  for (const NodeId id : tree.awaited())
    EXPECT_EQ(tree.node(id).parent, root_node) << "nothing is built on what is awaited";
  const auto written = tree.to_json();
  const auto read = SearchTree::from_json(written);
  ASSERT_TRUE(read.ok()) << read.error().sentence();
  EXPECT_EQ(read->to_json().dump(), written.dump());

  const std::size_t size = tree.size();
  EXPECT_EQ(go_on().awaited, 4) << "no answer, no new question";
  EXPECT_EQ(tree.size(), size);

  environment.delivers = true;
  const LoopEnd second = go_on();
  EXPECT_EQ(tree.size(), 7u);
  EXPECT_EQ(second.awaited, static_cast<int>(tree.awaited().size()));
  EXPECT_TRUE(go_on().awaited == 0 && tree.awaited().empty());
  std::set<std::string> candidates;
  for (const Node& node : tree.nodes()) {
    EXPECT_TRUE(candidates.insert(node.candidate).second) << node.candidate;
    if (node.id != root_node && node.is_measured()) {
      EXPECT_FALSE(node.action.rule.empty());
      EXPECT_TRUE(std::isfinite(node.score));
    }
  }
}

TEST(OfflineTree, IsReadBackEqualAndRefusedWhenBroken) {
  OfflineTree tree = testing::subset_tree("k", testing::usual_actions());
  tree.states[0].refused.push_back({ActionKind::fusion, "keep-in-registers", "out moves"});
  const auto json = to_json(tree);
  const auto again = tree_from_json(json, "t.json");
  ASSERT_TRUE(again.ok()) << again.error().sentence();
  EXPECT_EQ(to_json(*again).dump(), json.dump());
  auto broken = json;
  broken["States"][0]["Edges"][0]["Child"] = 4000;
  EXPECT_FALSE(tree_from_json(broken, "t.json").ok());
}

TEST(OfflineTree, AnswersFillInTimes) {
  OfflineTree tree = testing::subset_tree("k", testing::usual_actions());
  tree.device.clear();
  for (RecordedState& state : tree.states)
    state.speedup.clear(), state.samples.clear(), state.floor_share.clear();
  tree.states[1].request = "r1";
  tree.states[2].request = "r2";
  QueueAnswers answers;
  QueueAnswer& good = answers.accepted["r1"];
  good.device = "GPU";
  QueueScore score;
  score.problem = {{"n", 1}};
  score.raw_us = 10, score.best_us = 5, score.ratio = 2, score.copy_floor_us = 4;
  score.samples = {10, 0, 5};
  good.scores = {score};
  QueueAnswer& failed = answers.accepted["r2"];
  failed.device = "GPU";
  failed.failure = "does not compile";
  const auto measured = adopt_answers(tree, answers);
  ASSERT_TRUE(measured.ok()) << measured.error().sentence();
  EXPECT_EQ(*measured, 2);
  EXPECT_DOUBLE_EQ(tree.speedup(1), 2);
  EXPECT_EQ(tree.states[1].samples[0], (std::vector<double>{1, 0, 2}));
  EXPECT_DOUBLE_EQ(tree.states[1].floor_share[0], 0.8);
  EXPECT_TRUE(tree.is_measured(2));
  EXPECT_EQ(tree.speedup(2), 0);
  EXPECT_FALSE(tree.is_measured(3));
  good.scores[0].problem = {{"n", 7}};
  EXPECT_FALSE(adopt_answers(tree, answers).ok()) << "a size that was not asked";
}

} // namespace
} // namespace lathe::refactor::agents
