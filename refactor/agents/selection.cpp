#include "refactor/agents/selection.h"

#include <algorithm>
#include <numeric>

namespace lathe::refactor::agents {

bool is_selectable(const SearchTree& tree, NodeId id, const SelectionOptions& options) {
  const Node& node = tree.node(id);
  const auto children = static_cast<int>(node.children.size());
  if (id == root_node && children >= options.root_children)
    return false;
  const bool all_fail = std::all_of(node.children.begin(), node.children.end(),
                                    [&](NodeId child) { return tree.node(child).is_broken(); });
  return !(children > options.failing_children && all_fail);
}

std::vector<double> selection_probabilities(const SearchTree& tree, const SelectionOptions& options,
                                            const CanExpand& can_expand) {
  std::vector<NodeId> selectable, leaves;
  std::optional<NodeId> best;
  for (const Node& node : tree.nodes()) {
    if (!is_selectable(tree, node.id, options) || !can_expand(node.id))
      continue;
    selectable.push_back(node.id);
    if (node.children.empty())
      leaves.push_back(node.id);
    if (node.is_measured() && (!best || node.score < tree.node(*best).score))
      best = node.id;
  }
  std::vector<double> probabilities(tree.size(), 0.0);
  const auto share = [&](const std::vector<NodeId>& nodes, double amount) {
    for (const NodeId id : nodes)
      probabilities[static_cast<std::size_t>(id)] += amount / static_cast<double>(nodes.size());
  };
  if (best && !leaves.empty()) {
    share({*best}, 1 - options.epsilon);
    share(leaves, options.epsilon);
  } else if (best) {
    share({*best}, 1);
  } else {
    share(leaves.empty() ? selectable : leaves, 1);
  }
  return probabilities;
}

std::optional<NodeId> select_node(const SearchTree& tree, const SelectionOptions& options,
                                  const CanExpand& can_expand, std::mt19937_64& random) {
  const auto index = draw_by_weight(selection_probabilities(tree, options, can_expand), random);
  return index ? std::optional(static_cast<NodeId>(*index)) : std::nullopt;
}

std::optional<std::size_t> draw_by_weight(const std::vector<double>& weights, std::mt19937_64& random) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!(total > 0))
    return std::nullopt;
  // 53 bits: the standard's distributions differ between libraries.
  double left = static_cast<double>(random() >> 11) * 0x1.0p-53 * total;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0)
      continue;
    last = i;
    left -= weights[i];
    if (left < 0)
      return i;
  }
  return last;
}

} // namespace lathe::refactor::agents
