// STARK's parts on hand-built trees: selection, leaderboard, context windows.
#include "refactor/agents/context_sets.h"
#include "refactor/agents/selection.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace lathe::refactor::agents {
namespace {

Node measured(double score) {
  Node node;
  node.score = score;
  node.candidate = "at" + std::to_string(score);
  return node;
}

Node broken(Stage stage = Stage::refused) {
  Node node;
  node.stage = stage;
  node.diagnostics = "refused";
  return node;
}

bool always(NodeId) {
  return true;
}

//            0 root 1.0
//      /       |       \ .
//   1 0.8   2 broken   3 0.5
//   /   \      |         |
// 4 0.9 5 brk  6 0.7    7 broken
SearchTree family() {
  SearchTree tree("raw");
  tree.add(root_node, measured(0.8));
  tree.add(root_node, broken());
  tree.add(root_node, measured(0.5));
  tree.add(1, measured(0.9));
  tree.add(1, broken(Stage::not_run));
  tree.add(2, measured(0.7));
  tree.add(3, broken(Stage::not_written));
  return tree;
}

using Ids = std::vector<NodeId>;

TEST(ContextSets, AreThoseOfTheThreeFormulas) {
  const SearchTree tree = family();
  // {i, root} + D(i) + Top-3: leaders are 3 (0.5), 6 (0.7), 1 (0.8).
  EXPECT_EQ(context_set(tree, Role::plan, 1, 3), (Ids{1, 0, 4, 5, 3, 6}));
  // {i, root} + D(i) + the children of 2 and 3.
  EXPECT_EQ(context_set(tree, Role::code, 1), (Ids{1, 0, 4, 5, 6, 7}));
  // {i, root} + S(i).
  EXPECT_EQ(context_set(tree, Role::debug, 2), (Ids{2, 0, 1, 3}));
  EXPECT_EQ(context_set(tree, Role::debug, 5), (Ids{5, 0, 4}));
}

TEST(ContextSets, OfTheRootAreTheRootItsChildrenAndTheLeaders) {
  const SearchTree tree = family();
  EXPECT_EQ(context_set(tree, Role::plan, root_node, 2), (Ids{0, 1, 2, 3, 6}));
  EXPECT_EQ(context_set(tree, Role::code, root_node), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(context_set(tree, Role::debug, root_node), (Ids{0}));
}

TEST(ContextSets, RolesHaveTheirTemperatures) {
  EXPECT_EQ(temperature(Role::plan), 0.8);
  EXPECT_EQ(temperature(Role::code), 0.1);
  EXPECT_EQ(temperature(Role::debug), 0.1);
}

TEST(Selection, FrequenciesFollowTheFormula) {
  const SearchTree tree = family();
  const SelectionOptions options{.epsilon = 0.35, .root_children = 3, .failing_children = 3};
  // Greedy: 3. Leaves: 4, 5, 6, 7.
  const std::vector<double> expected{0, 0, 0, 0.65, 0.0875, 0.0875, 0.0875, 0.0875};
  const auto probabilities = selection_probabilities(tree, options, always);
  ASSERT_EQ(probabilities.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(probabilities[i], expected[i], 1e-12) << i;

  constexpr int draws = 100000;
  std::vector<int> counts(tree.size());
  std::mt19937_64 random(7);
  for (int i = 0; i < draws; ++i)
    ++counts[static_cast<std::size_t>(*select_node(tree, options, always, random))];
  for (std::size_t i = 0; i < expected.size(); ++i) {
    // Five standard deviations of a binomial share.
    const double deviation = std::sqrt(expected[i] * (1 - expected[i]) / draws);
    EXPECT_NEAR(counts[i] / static_cast<double>(draws), expected[i], 5 * deviation) << i;
  }
}

TEST(Selection, AThrottledRootIsNeverDrawn) {
  SearchTree tree("raw");
  const SelectionOptions options{.epsilon = 0.35, .root_children = 2, .failing_children = 3};
  EXPECT_TRUE(is_selectable(tree, root_node, options));
  tree.add(root_node, measured(1.2));
  EXPECT_TRUE(is_selectable(tree, root_node, options));
  tree.add(root_node, measured(1.4)); // the root is still the best: only throttling keeps it out
  EXPECT_FALSE(is_selectable(tree, root_node, options));
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i)
    EXPECT_NE(*select_node(tree, options, always, random), root_node);
}

TEST(Selection, DeadBranchesArePruned) {
  SearchTree tree("raw");
  const SelectionOptions options{.epsilon = 0.35, .root_children = 9, .failing_children = 2};
  const NodeId branch = tree.add(root_node, measured(0.5));
  tree.add(branch, broken());
  tree.add(branch, broken());
  EXPECT_TRUE(is_selectable(tree, branch, options)) << "more than failing_children, not as many";
  tree.add(branch, broken());
  EXPECT_FALSE(is_selectable(tree, branch, options));
  tree.add(branch, measured(0.9));
  EXPECT_TRUE(is_selectable(tree, branch, options)) << "a child that works revives it";
}

TEST(Selection, NothingToChooseIsSaid) {
  const SearchTree tree = family();
  std::mt19937_64 random(1);
  EXPECT_FALSE(select_node(tree, {}, [](NodeId) { return false; }, random).has_value());
}

TEST(Selection, BrokenNodesAreReachedThroughTheLeavesOnly) {
  SearchTree tree("raw");
  tree.add(root_node, broken());
  const SelectionOptions options{.epsilon = 0.0, .root_children = 9, .failing_children = 3};
  const auto greedy = selection_probabilities(tree, options, always);
  EXPECT_EQ(greedy[0], 1);
  EXPECT_EQ(greedy[1], 0);
}

TEST(SearchTree, IsReadBackEqual) {
  SearchTree tree = family();
  tree.node(3).action.rule = "expose-unroll";
  tree.node(3).action.knobs = {"UNROLL"};
  tree.node(3).action.knob_kinds = {KnobKind::unroll};
  tree.node(3).speedups = {1.5, 2.25};
  tree.node(3).raw_counters = {{"dram_share", 0.5}};
  const std::string text = tree.to_json().dump();
  const auto again = SearchTree::from_json(nlohmann::ordered_json::parse(text));
  ASSERT_TRUE(again.ok()) << again.error().sentence();
  EXPECT_EQ(again->to_json().dump(), text);
  EXPECT_EQ(again->node(2).children, (Ids{6}));
  EXPECT_TRUE(std::isinf(again->node(2).score));
  EXPECT_EQ(again->leaders(9), tree.leaders(9));
}

TEST(SearchTree, MadeByHandIsRefusedWithASentence) {
  auto json = family().to_json();
  json[2]["Parent"] = 5;
  EXPECT_FALSE(SearchTree::from_json(json).ok());
  json = family().to_json();
  json[2]["Score"] = 0.1; // a broken node with a score
  const auto refused = SearchTree::from_json(json);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().sentence().find("Score"), std::string::npos);
  EXPECT_FALSE(SearchTree::from_json(nlohmann::ordered_json::parse("{}")).ok());
}

TEST(SearchTree, LeadersAreTheBestCorrectOnes) {
  const SearchTree tree = family();
  EXPECT_EQ(tree.leaders(3), (Ids{3, 6, 1}));
  EXPECT_EQ(tree.best(), 3);
  EXPECT_EQ(tree.path(6), (Ids{0, 2, 6}));
}

} // namespace
} // namespace lathe::refactor::agents
