// What each role is shown: the context windows of STARK (arXiv 2510.16996), as its text states them.
//   plan   {i, root} + D(i) + Top-r(C)
//   code   {i, root} + D(i) + children of i's siblings
//   debug  {i, root} + S(i)
// D(i): children of i; S(i): its siblings; C: the leaderboard.
#pragma once

#include "refactor/agents/search_tree.h"

namespace lathe::refactor::agents {

enum class Role { plan, code, debug };
std::string_view to_string(Role role);
// 0.8, 0.1, 0.1.
double temperature(Role role);

// Node ids, each once: i first, then the root, then the rest in the formula's order. r is ours: 3.
std::vector<NodeId> context_set(const SearchTree& tree, Role role, NodeId at, std::size_t leaders = 3);

} // namespace lathe::refactor::agents
