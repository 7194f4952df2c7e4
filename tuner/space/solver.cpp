#include "tuner/space/solver.h"

#include <algorithm>
#include <bit>

namespace lathe::space {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t part) {
  return std::rotl((hash ^ part) * 0x9e3779b97f4a7c15u, 31);
}

// Remembers the subtree of a state. It forgets on collision, which costs time only: memory stays bounded.
class Memo {
public:
  // `cheap`: what a hit saves is one run of the last level, hardly more than the lookup.
  Memo(std::size_t key_length, std::size_t most_entries, bool cheap)
      : key_length_(key_length), most_(most_entries), cheap_(cheap) {}

  // Whether the key is known; its node.
  bool find(const std::vector<std::int64_t>& key, NodeId& node) {
    ++lookups_;
    std::uint64_t hash = 0x243f6a8885a308d3u;
    for (const std::int64_t part : key)
      hash = mix(hash, static_cast<std::uint64_t>(part));
    hash_ = hash ^ hash >> 29;
    if (nodes_.empty())
      return false;
    const std::size_t slot = hash_ & (nodes_.size() - 1);
    if (nodes_[slot] == empty || !std::equal(key.begin(), key.end(), keys_.begin() + slot * key_length_))
      return false;
    ++hits_;
    node = nodes_[slot] == dead ? dead_node : nodes_[slot];
    return true;
  }

  // Stores the node of a key that find() missed.
  void store(const std::vector<std::int64_t>& key, std::uint64_t hash, NodeId node) {
    if (abandoned_)
      return;
    if (used_ * 2 >= nodes_.size() && nodes_.size() < most_)
      grow();
    const bool rarely_hit = cheap_ ? lookups_ > 4096 && hits_ < lookups_ / 2
                                   : nodes_.size() >= most_ && lookups_ > 8 * most_ && hits_ < lookups_ / 16;
    if (rarely_hit) { // states hardly ever come back: looking them up costs more than it saves
      abandoned_ = true;
      nodes_ = {};
      keys_ = {};
      return;
    }
    place(key.data(), hash, node == dead_node ? dead : node);
  }

  bool is_abandoned() const { return abandoned_; }
  std::uint64_t hash() const { return hash_; } // of the key of the last find()

private:
  static constexpr NodeId empty = 0xffffffff;
  static constexpr NodeId dead = 0xfffffffe;

  void place(const std::int64_t* key, std::uint64_t hash, NodeId node) {
    const std::size_t slot = hash & (nodes_.size() - 1);
    used_ += nodes_[slot] == empty ? 1 : 0;
    nodes_[slot] = node;
    std::copy(key, key + key_length_, keys_.begin() + slot * key_length_);
  }

  void grow() {
    std::vector<NodeId> nodes(std::min(most_, std::max<std::size_t>(16, nodes_.size() * 4)), empty);
    std::vector<std::int64_t> keys(nodes.size() * key_length_);
    nodes.swap(nodes_);
    keys.swap(keys_);
    used_ = 0;
    for (std::size_t slot = 0; slot < nodes.size(); ++slot)
      if (nodes[slot] != empty) {
        const std::int64_t* key = keys.data() + slot * key_length_;
        std::uint64_t hash = 0x243f6a8885a308d3u;
        for (std::size_t i = 0; i < key_length_; ++i)
          hash = mix(hash, static_cast<std::uint64_t>(key[i]));
        place(key, hash ^ hash >> 29, nodes[slot]);
      }
  }

  std::size_t key_length_;
  std::size_t most_;
  bool cheap_;
  std::size_t used_ = 0;
  std::uint64_t hash_ = 0;
  std::uint64_t lookups_ = 0;
  std::uint64_t hits_ = 0;
  bool abandoned_ = false;
  std::vector<NodeId> nodes_;
  std::vector<std::int64_t> keys_;
};

struct Edge {
  std::uint16_t value;
  NodeId child;
  bool operator==(const Edge&) const = default;
};

class Enumerator {
public:
  Enumerator(const Program& program, const SolverLimits& limits)
      : program_(program), machine_(program), limits_(limits), edges_(program.levels().size()),
        tables_(program.levels().size()) {
    const std::size_t levels = program.levels().size();
    diagram_.levels.resize(levels);
    for (std::size_t i = 0; i < levels; ++i) {
      const Program::Level& level = program.levels()[i];
      diagram_.levels[i].parameter = level.parameter;
      const std::size_t words = level.live.size() + (level.live_fallible.size() + 63) / 64;
      // A quarter of the memory for all memos together.
      const std::size_t share = limits.bytes / 4 / levels / (words * sizeof(std::int64_t) + sizeof(NodeId));
      memos_.emplace_back(words, std::bit_floor(std::max<std::size_t>(share, 64)), i + 2 == levels);
    }
    keys_.resize(levels);
  }

  std::optional<Diagram> run() {
    diagram_.root = solve(0);
    if (exceeded_)
      return std::nullopt;
    for (Diagram::Level& level : diagram_.levels) {
      level.first_edge.shrink_to_fit();
      level.value.shrink_to_fit();
      level.child.shrink_to_fit();
      level.count.shrink_to_fit();
    }
    return std::move(diagram_);
  }

private:
  NodeId solve(std::size_t level) {
    const std::vector<std::uint32_t>& lanes = machine_.run(level);
    if (machine_.steps() > limits_.steps)
      exceeded_ = true;
    if (exceeded_)
      return dead_node;
    const Domain& domain =
        program_.pool().model().domains[static_cast<std::size_t>(program_.levels()[level].parameter)];
    std::vector<Edge>& edges = edges_[level];
    edges.clear();
    const bool last = level + 1 == edges_.size();
    for (const std::uint32_t lane : lanes) {
      const NodeId child = last ? 0 : descend(level, lane);
      if (exceeded_)
        return dead_node;
      if (child != dead_node)
        edges.push_back({domain.indices[lane], child});
    }
    return edges.empty() ? dead_node : intern(level, edges);
  }

  NodeId descend(std::size_t level, std::uint32_t lane) {
    machine_.choose(level, lane);
    Memo& memo = memos_[level];
    if (memo.is_abandoned())
      return solve(level + 1);
    std::vector<std::int64_t>& key = keys_[level];
    machine_.state(level, key);
    NodeId node = dead_node;
    if (memo.find(key, node))
      return node;
    const std::uint64_t hash = memo.hash();
    node = solve(level + 1);
    if (!exceeded_)
      memo.store(key, hash, node);
    return node;
  }

  // One node for every different set of edges.
  NodeId intern(std::size_t level, const std::vector<Edge>& edges) {
    Diagram::Level& stored = diagram_.levels[level];
    std::vector<NodeId>& table = tables_[level];
    if (stored.count.size() * 2 >= table.size())
      rehash(level);
    const bool last = level + 1 == edges_.size();
    std::uint64_t hash = edges.size();
    for (const Edge& edge : edges)
      hash = mix(hash, std::uint64_t{edge.child} << 16 | edge.value);
    std::size_t slot = (hash ^ hash >> 29) & (table.size() - 1);
    for (; table[slot] != dead_node; slot = (slot + 1) & (table.size() - 1)) {
      const NodeId node = table[slot];
      const std::uint32_t first = stored.first_edge[node];
      if (stored.first_edge[node + 1] - first != edges.size())
        continue;
      bool same = true;
      for (std::size_t i = 0; i < edges.size() && same; ++i)
        same =
            stored.value[first + i] == edges[i].value && (last || stored.child[first + i] == edges[i].child);
      if (same)
        return node;
    }
    const auto node = static_cast<NodeId>(stored.count.size());
    table[slot] = node;
    Count count = 0;
    for (const Edge& edge : edges) {
      stored.value.push_back(edge.value);
      if (!last)
        stored.child.push_back(edge.child);
      const Count below = last ? Count{1} : diagram_.levels[level + 1].count[edge.child];
      if (__builtin_add_overflow(count, below, &count))
        exceeded_ = true;
    }
    stored.first_edge.push_back(static_cast<std::uint32_t>(stored.value.size()));
    stored.count.push_back(count);
    bytes_ += edges.size() * (sizeof(std::uint16_t) + (last ? 0 : sizeof(NodeId))) + sizeof(Count) +
              3 * sizeof(std::uint32_t);
    // Growing vectors hold up to twice their content for a moment; edges are counted in 32 bits.
    if (bytes_ > limits_.bytes / 2 || stored.value.size() > 0xf0000000u)
      exceeded_ = true;
    return node;
  }

  void rehash(std::size_t level) {
    const Diagram::Level& stored = diagram_.levels[level];
    std::vector<NodeId>& table = tables_[level];
    table.assign(std::max<std::size_t>(16, table.size() * 2), dead_node);
    const bool last = level + 1 == edges_.size();
    for (NodeId node = 0; node < stored.count.size(); ++node) {
      const std::uint32_t first = stored.first_edge[node];
      const std::uint32_t end = stored.first_edge[node + 1];
      std::uint64_t hash = end - first;
      for (std::uint32_t edge = first; edge < end; ++edge)
        hash = mix(hash, std::uint64_t{last ? 0 : stored.child[edge]} << 16 | stored.value[edge]);
      std::size_t slot = (hash ^ hash >> 29) & (table.size() - 1);
      while (table[slot] != dead_node)
        slot = (slot + 1) & (table.size() - 1);
      table[slot] = node;
    }
  }

  const Program& program_;
  Machine machine_;
  SolverLimits limits_;
  Diagram diagram_;
  std::vector<Memo> memos_;                     // of the state below each level
  std::vector<std::vector<std::int64_t>> keys_; // one a level: the recursion overwrites the deeper ones only
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::vector<NodeId>> tables_; // node numbers by content
  std::size_t bytes_ = 0;
  bool exceeded_ = false;
};

} // namespace

std::optional<Diagram> enumerate(const Program& program, const SolverLimits& limits) {
  return Enumerator(program, limits).run();
}

} // namespace lathe::space
