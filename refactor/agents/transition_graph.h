// The hierarchical transition graph of HTAM (arXiv 2605.29734), in Boost.Graph: global directions, local
// strategies below them, and transitions between directions, each with a static prior and writable
// experience. The paper's scoring formula and update rule are not known to us; the ones here are ours
// (docs/agents.md).
#pragma once

#include "refactor/agents/offline_tree.h"

#include <boost/graph/adjacency_list.hpp>

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lathe::refactor::agents {

// What happened where something was tried. Gains are natural logarithms of parent's time over child's; an
// attempt that failed or lost adds to `failures` or a negative gain: both count.
struct Experience {
  double tries = 0, failures = 0, gain = 0;
};

// By source (one a kernel and machine): merging the same memory twice changes nothing.
using Record = std::map<std::string, Experience>;

struct ScoreOptions {
  double node_weight = 1;                            // of a direction's own experience
  std::vector<double> prefix_weights{0.6, 0.3, 0.1}; // of the transitions from the i-th most recent direction
  bool position_aware = true;                        // false: all recent directions weigh the same
  double shrinkage = 4;                              // tries that pull a mean half way to 0
  double risk = 0.3;                                 // cost of certain failure, as a gain
  std::string except = {}; // a source that is left out: the kernel at hand, when judging
};

class TransitionGraph {
public:
  // The five directions with their priors, without strategies and without experience.
  TransitionGraph();

  // Prior by state, plus the direction's own experience, plus that of the transitions from the directions
  // taken before (most recent first). In the unit of gains.
  double score(Direction direction, const Features& state, const std::vector<Direction>& prefix,
               const ScoreOptions& options) const;
  // What a strategy of the direction gained; 0 for one that is not known.
  double strategy_score(Direction direction, const std::string& strategy, const ScoreOptions& options) const;
  // The strategies known below a direction, best first: nothing of other directions.
  std::vector<std::string> strategies(Direction direction, const ScoreOptions& options) const;
  const Experience transition(Direction from, Direction to, const std::string& except = {}) const;

  // Online update with one attempt: the strategy, its direction, and the transitions from the whole prefix,
  // of which the i-th most recent weighs 1 / (i + 1).
  void update(const std::string& source, const std::vector<Direction>& prefix, Direction direction,
              const std::string& strategy, bool failed, double gain);

  // Takes over what `other` knows: of each source the record with more tries.
  void merge(const TransitionGraph& other);
  // The same experience dealt out to strategies and transitions at random: what a memory of the wrong kernels
  // looks like. For ablations.
  TransitionGraph randomised(std::uint64_t seed) const;
  double tries() const; // attempts remembered

  nlohmann::ordered_json to_json() const; // what was read is written back byte for byte
  static Result<TransitionGraph> from_json(const nlohmann::ordered_json& json, const std::string& name);
  std::string to_dot() const; // for Graphviz

private:
  struct Vertex {
    bool is_direction = true;
    Direction direction = Direction::memory_access;
    std::string strategy; // of local strategies
    Record record;
  };
  struct Edge {
    Record record; // of transitions; empty between a direction and its strategies
  };
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Vertex, Edge>;

  std::optional<Graph::vertex_descriptor> find(Direction direction, const std::string& strategy) const;
  Graph graph_; // vertices 0..4 are the directions
};

Result<TransitionGraph> read_memory(const std::filesystem::path& file);
Status write_memory(const TransitionGraph& memory, const std::filesystem::path& file);

// The guard against negative transfer: trust in a memory, by how well it foretells the gains of this task.
// Two forecasters, the memory and "what was seen so far on average", are weighed by exp(-loss); ours.
class TransferGuard {
public:
  explicit TransferGuard(double prior_trust = 0.7) : prior_(prior_trust) {}
  void observe(double foretold, double gained);
  double trust() const; // 0: the memory is not used at all
  bool is_off() const { return trust() == 0; }
  // What was observed so far, for a run that is resumed: empty at first. What is none of state()'s is not
  // taken.
  std::vector<double> state() const;
  void restore(const std::vector<double>& state);

private:
  double prior_, memory_loss_ = 0, plain_loss_ = 0, sum_ = 0;
  int count_ = 0;
};

} // namespace lathe::refactor::agents
