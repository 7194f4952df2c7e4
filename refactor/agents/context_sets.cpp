#include "refactor/agents/context_sets.h"

#include <algorithm>

namespace lathe::refactor::agents {

std::string_view to_string(Role role) {
  return role == Role::plan ? "plan" : role == Role::code ? "code" : "debug";
}

double temperature(Role role) {
  return role == Role::plan ? 0.8 : 0.1;
}

std::vector<NodeId> context_set(const SearchTree& tree, Role role, NodeId at, std::size_t leaders) {
  std::vector<NodeId> nodes;
  const auto add = [&](NodeId id) {
    if (std::find(nodes.begin(), nodes.end(), id) == nodes.end())
      nodes.push_back(id);
  };
  const auto add_all = [&](const std::vector<NodeId>& ids) { std::for_each(ids.begin(), ids.end(), add); };
  add(at);
  add(root_node);
  if (role == Role::debug) {
    add_all(tree.siblings(at));
    return nodes;
  }
  add_all(tree.node(at).children);
  if (role == Role::plan)
    add_all(tree.leaders(leaders));
  else
    for (const NodeId sibling : tree.siblings(at))
      add_all(tree.node(sibling).children);
  return nodes;
}

} // namespace lathe::refactor::agents
