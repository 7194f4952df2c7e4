// The valid assignments of one group of parameters as a reduced decision diagram: equal subtrees are stored
// once.
#pragma once

#include "tuner/space/space.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace lathe::space {

__extension__ typedef unsigned __int128 Count;

using NodeId = std::uint32_t;
constexpr NodeId dead_node = 0xffffffff;

// The values of a group's parameters, in the order of the diagram's levels.
using Tuple = std::vector<std::uint16_t>;

// Which values may replace which: all, or only the neighbours in the value list.
enum class Step { any, adjacent };

struct Near {
  Tuple tuple;
  int distance = 0; // parameters that differ
};

// Level d branches on one parameter. A node is a range of edges, ascending by value; the edges of the last
// level are the leaves.
struct Diagram {
  struct Level {
    std::int32_t parameter = 0;
    std::vector<std::uint32_t> first_edge{0}; // of each node, and the end
    std::vector<std::uint16_t> value;         // of each edge: the index of the parameter's value
    std::vector<NodeId> child;                // of each edge; empty on the last level
    std::vector<Count> count;                 // of each node: leaves below
  };
  std::vector<Level> levels;
  NodeId root = dead_node;

  Count total() const { return root == dead_node ? Count{0} : levels[0].count[root]; }
  std::size_t bytes() const;
  Count edge_count(std::size_t level, std::uint32_t edge) const {
    return level + 1 == levels.size() ? Count{1} : levels[level + 1].count[levels[level].child[edge]];
  }
  // The edge of a node with this value.
  std::optional<std::uint32_t> find_edge(std::size_t level, NodeId node, std::uint16_t value) const;

  // Every tuple, one behind the other, ascending.
  std::vector<std::uint16_t> list() const;
  bool contains(const Tuple& tuple) const;
  Tuple sample(Random& random) const; // uniform
  // Every valid tuple that differs from `tuple` (valid or not) in at most `distance` parameters, itself
  // included.
  std::vector<Near> near(const Tuple& tuple, int distance, Step step) const;
  // A valid tuple with the fewest changes, among those with the smallest steps relative to `sizes`, the
  // lengths of the value lists; ties are drawn.
  Tuple nearest(const Tuple& tuple, const std::vector<std::size_t>& sizes, Random& random) const;
};

// Uniform in [0, bound); the same on every platform.
Count random_below(Count bound, Random& random);

struct SolverLimits {
  std::size_t bytes = 0;
  std::uint64_t steps = 0; // lanes evaluated
};

} // namespace lathe::space
