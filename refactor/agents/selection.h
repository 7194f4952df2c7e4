// Which node to go on from: the adapted epsilon-greedy choice of STARK. What STARK states: a root that has
// had its children is throttled, a node whose children all fail is dead, a share epsilon of the choices goes
// to the leaves, uniformly. The numbers are ours: STARK's are not known to us.
#pragma once

#include "refactor/agents/search_tree.h"

#include <functional>
#include <random>

namespace lathe::refactor::agents {

struct SelectionOptions {
  double epsilon = 0.35;
  int root_children = 5;    // the root is not chosen once it has that many
  int failing_children = 3; // a node with more than that many children, all of them failing, is not chosen
};

// Whether anything is left to try at a node (legal actions, depth); throttling and pruning come on top.
using CanExpand = std::function<bool(NodeId)>;

bool is_selectable(const SearchTree& tree, NodeId id, const SelectionOptions& options);

// The probability of each node, by id. With 1 - epsilon the best score among the selectable nodes that are
// not broken (the oldest of equals); with epsilon uniformly one of the selectable leaves. Where one of the
// two sets is empty the other gets all; where both are, any selectable node. All 0 where nothing can be
// chosen.
std::vector<double> selection_probabilities(const SearchTree& tree, const SelectionOptions& options,
                                            const CanExpand& can_expand);

std::optional<NodeId> select_node(const SearchTree& tree, const SelectionOptions& options,
                                  const CanExpand& can_expand, std::mt19937_64& random);

// An index by weight; nothing where all are 0. One draw of `random`, the same on every platform.
std::optional<std::size_t> draw_by_weight(const std::vector<double>& weights, std::mt19937_64& random);

} // namespace lathe::refactor::agents
