// Recorded trees made by hand: what the tests of planners, policies and arms run on.
#pragma once

#include "refactor/agents/offline_tree.h"

#include <cmath>

namespace lathe::refactor::agents::testing {

inline Action action(const std::string& rule, KnobKind kind, const std::string& knob) {
  Action made;
  made.rule = rule;
  made.knobs = {knob};
  made.knob_kinds = {kind};
  made.kind = kind_of_rule(rule);
  made.direction = direction_of(rule, made.knob_kinds);
  return made;
}

// The actions of the made-up kernels, each with the gain that it brings wherever it is taken.
inline std::vector<std::pair<Action, double>> usual_actions(double scale = 1) {
  return {{action("split-block", KnobKind::coarsen, "SPLIT"), 0.50 * scale},
          {action("expose-block-size", KnobKind::block, "BLOCK"), 0.25 * scale},
          {action("cache-hints", KnobKind::cache, "LOAD_CACHE"), 0.05 * scale},
          {action("expose-unroll", KnobKind::unroll, "UNROLL"), 0.02 * scale},
          {action("launch-bounds", KnobKind::occupancy, "MIN_BLOCKS"), 0.0},
          {action("rows-per-block", KnobKind::coarsen, "ROWS"), -0.10 * scale},
          {action("expose-constant", KnobKind::vector, "VEC"), 0.10 * scale}};
}

// Every subset of the actions is a state; its speed-up is exp(sum of gains).
inline OfflineTree subset_tree(const std::string& kernel,
                               const std::vector<std::pair<Action, double>>& actions) {
  OfflineTree tree;
  tree.kernel = kernel;
  tree.source = kernel + ".cu";
  tree.device = "made up";
  tree.facts = {{"loops", 1}, {"barriers", 0}};
  tree.problems = {"n=1"};
  tree.problem_facts = {
      {{"log2_bytes", 20}, {"log2_blocks", 4}, {"log2_threads", 8}, {"log2_bytes_per_thread", 5}}};
  for (std::size_t set = 0; set < (std::size_t{1} << actions.size()); ++set) {
    RecordedState state;
    state.key = kernel + std::to_string(set);
    state.is_expanded = true;
    double gain = 0;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (set >> i & 1) {
        gain += actions[i].second;
        ++state.depth;
        state.knobs.push_back(actions[i].first.knobs.front());
      } else {
        state.edges.push_back({actions[i].first, static_cast<int>(set | std::size_t{1} << i), {}});
      }
    }
    state.speedup = {std::exp(gain)};
    state.floor_share = {0.5};
    state.samples = {{1.0, 0.8 * std::exp(gain), std::exp(gain)}};
    tree.states.push_back(std::move(state));
  }
  return tree;
}

} // namespace lathe::refactor::agents::testing
