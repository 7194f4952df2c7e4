#include "tuner/space/diagram.h"

#include <algorithm>
#include <limits>

namespace lathe::space {
namespace {

// Walks the edges that stay within the distance.
class Neighbours {
public:
  Neighbours(const Diagram& diagram, const Tuple& tuple, int distance, Step step)
      : diagram_(diagram), tuple_(tuple), distance_(distance), step_(step), current_(tuple.size()) {}

  std::vector<Near> run() {
    walk(0, diagram_.root, 0);
    return std::move(found_);
  }

private:
  void walk(std::size_t level, NodeId node, int changes) {
    if (level == tuple_.size()) {
      found_.push_back({current_, changes});
      return;
    }
    const Diagram::Level& stored = diagram_.levels[level];
    if (changes == distance_) { // the rest is fixed
      if (const std::optional<std::uint32_t> edge = diagram_.find_edge(level, node, tuple_[level]))
        follow(level, *edge, changes);
      return;
    }
    for (std::uint32_t edge = stored.first_edge[node]; edge < stored.first_edge[node + 1]; ++edge) {
      const int offset = int{stored.value[edge]} - int{tuple_[level]};
      if (step_ == Step::any || std::abs(offset) <= 1)
        follow(level, edge, changes + (offset != 0 ? 1 : 0));
    }
  }

  void follow(std::size_t level, std::uint32_t edge, int changes) {
    const Diagram::Level& stored = diagram_.levels[level];
    current_[level] = stored.value[edge];
    walk(level + 1, level + 1 == tuple_.size() ? 0 : stored.child[edge], changes);
  }

  const Diagram& diagram_;
  const Tuple& tuple_;
  int distance_;
  Step step_;
  Tuple current_;
  std::vector<Near> found_;
};

// Appends the tuples below a node, all of which begin with `prefix`.
void append_tuples(const Diagram& diagram, std::size_t level, NodeId node, Tuple& prefix,
                   std::vector<std::uint16_t>& out) {
  const Diagram::Level& stored = diagram.levels[level];
  const bool is_last = level + 1 == diagram.levels.size();
  for (std::uint32_t edge = stored.first_edge[node]; edge < stored.first_edge[node + 1]; ++edge) {
    prefix[level] = stored.value[edge];
    if (is_last)
      out.insert(out.end(), prefix.begin(), prefix.end());
    else
      append_tuples(diagram, level + 1, stored.child[edge], prefix, out);
  }
}

double step_length(std::uint16_t from, std::uint16_t to, std::size_t size) {
  return size < 2 ? 0 : std::abs(double(from) - double(to)) / double(size - 1);
}

} // namespace

Count random_below(Count bound, Random& random) {
  // Rejects the tail that would favour small numbers.
  if (bound <= std::numeric_limits<std::uint64_t>::max()) {
    const auto narrow = static_cast<std::uint64_t>(bound);
    const std::uint64_t threshold = -narrow % narrow;
    while (true)
      if (const std::uint64_t draw = random(); draw >= threshold)
        return draw % narrow;
  }
  const Count threshold = -bound % bound;
  while (true) {
    const Count high = random();
    const Count draw = high << 64 | random();
    if (draw >= threshold)
      return draw % bound;
  }
}

std::vector<std::uint16_t> Diagram::list() const {
  std::vector<std::uint16_t> tuples;
  tuples.reserve(static_cast<std::size_t>(total()) * levels.size());
  Tuple prefix(levels.size());
  if (root != dead_node)
    append_tuples(*this, 0, root, prefix, tuples);
  return tuples;
}

std::size_t Diagram::bytes() const {
  std::size_t bytes = 0;
  for (const Level& level : levels)
    bytes += level.first_edge.capacity() * sizeof(std::uint32_t) +
             level.value.capacity() * sizeof(std::uint16_t) + level.child.capacity() * sizeof(NodeId) +
             level.count.capacity() * sizeof(Count);
  return bytes;
}

std::optional<std::uint32_t> Diagram::find_edge(std::size_t level, NodeId node, std::uint16_t value) const {
  const Level& stored = levels[level];
  const auto first = stored.value.begin() + stored.first_edge[node];
  const auto last = stored.value.begin() + stored.first_edge[node + 1];
  const auto found = std::lower_bound(first, last, value);
  if (found == last || *found != value)
    return std::nullopt;
  return static_cast<std::uint32_t>(found - stored.value.begin());
}

bool Diagram::contains(const Tuple& tuple) const {
  NodeId node = root;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const std::optional<std::uint32_t> edge = find_edge(level, node, tuple[level]);
    if (!edge)
      return false;
    node = level + 1 == levels.size() ? 0 : levels[level].child[*edge];
  }
  return true;
}

Tuple Diagram::sample(Random& random) const {
  Tuple tuple;
  NodeId node = root;
  Count rest = random_below(total(), random);
  for (std::size_t level = 0; level < levels.size(); ++level) {
    std::uint32_t edge = levels[level].first_edge[node];
    for (Count below = edge_count(level, edge); rest >= below; below = edge_count(level, edge)) {
      rest -= below;
      ++edge;
    }
    tuple.push_back(levels[level].value[edge]);
    node = level + 1 == levels.size() ? 0 : levels[level].child[edge];
  }
  return tuple;
}

std::vector<Near> Diagram::near(const Tuple& tuple, int distance, Step step) const {
  return Neighbours(*this, tuple, distance, step).run();
}

Tuple Diagram::nearest(const Tuple& tuple, const std::vector<std::size_t>& sizes, Random& random) const {
  struct Cost {
    int changes;
    double steps;
    auto operator<=>(const Cost&) const = default;
  };
  const auto edge_cost = [&](std::size_t level, std::uint32_t edge, Cost below) {
    const std::uint16_t value = levels[level].value[edge];
    return Cost{below.changes + (value != tuple[level] ? 1 : 0),
                below.steps + step_length(tuple[level], value, sizes[level])};
  };
  const auto choose = [&](const std::vector<Near>& found) {
    std::vector<const Near*> best;
    Cost least{std::numeric_limits<int>::max(), 0};
    for (const Near& candidate : found) {
      Cost cost{candidate.distance, 0};
      for (std::size_t level = 0; level < tuple.size(); ++level)
        cost.steps += step_length(tuple[level], candidate.tuple[level], sizes[level]);
      if (cost < least) {
        best.clear();
        least = cost;
      }
      if (!(least < cost))
        best.push_back(&candidate);
    }
    return best[static_cast<std::size_t>(random_below(best.size(), random))]->tuple;
  };
  // Most repairs are one or two changes away; looking for those touches few nodes.
  constexpr int cheap_distance = 2;
  for (int distance = 0; distance <= cheap_distance; ++distance)
    if (const std::vector<Near> found = near(tuple, distance, Step::any); !found.empty())
      return choose(found);

  // The cheapest path to a leaf, from below.
  std::vector<std::vector<Cost>> cost(levels.size());
  const auto cost_below = [&](std::size_t level, std::uint32_t edge) {
    const Cost below = level + 1 == levels.size() ? Cost{0, 0} : cost[level + 1][levels[level].child[edge]];
    return edge_cost(level, edge, below);
  };
  for (std::size_t level = levels.size(); level-- > 0;)
    for (NodeId node = 0; node < levels[level].count.size(); ++node) {
      Cost least{std::numeric_limits<int>::max(), 0};
      for (std::uint32_t edge = levels[level].first_edge[node]; edge < levels[level].first_edge[node + 1];
           ++edge)
        least = std::min(least, cost_below(level, edge));
      cost[level].push_back(least);
    }
  Tuple result;
  NodeId node = root;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    std::vector<std::uint32_t> best;
    for (std::uint32_t edge = levels[level].first_edge[node]; edge < levels[level].first_edge[node + 1];
         ++edge)
      if (cost_below(level, edge) == cost[level][node])
        best.push_back(edge);
    const std::uint32_t edge = best[static_cast<std::size_t>(random_below(best.size(), random))];
    result.push_back(levels[level].value[edge]);
    node = level + 1 == levels.size() ? 0 : levels[level].child[edge];
  }
  return result;
}

} // namespace lathe::space
