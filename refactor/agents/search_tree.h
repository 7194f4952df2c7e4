// The search tree and the leaderboard of STARK (arXiv 2510.16996): the root is the raw kernel, every other
// node a candidate that one attempt made of its parent.
#pragma once

#include "refactor/agents/actions.h"

#include <filesystem>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lathe::refactor::agents {

using NodeId = int;
inline constexpr NodeId root_node = 0;

// How far an attempt came; the staged reward follows it.
enum class Stage {
  not_written, // the author gave nothing that could become a candidate
  refused,     // the guard refused it
  not_run,     // no configuration of it could be measured
  measured,    // it has a score
  awaited,     // the guard accepted it, and somebody else measures it
};
std::string_view to_string(Stage stage);

struct Node {
  NodeId id = root_node, parent = -1;
  std::vector<NodeId> children;
  Action action;         // what was done to the parent; by a model: `rule` is empty, `why` the instruction
  std::string author;    // "rules", "model"
  std::string reason;    // why this was tried: the planner's words
  std::string candidate; // state_key() of the candidate, or of what failed; names its files
  Stage stage = Stage::measured;
  std::string diagnostics; // of a failure: one sentence
  // Run time relative to the raw kernel's, geometric mean over the problems: lower is better, infinity for
  // anything that is not measured.
  double score = std::numeric_limits<double>::infinity();
  std::vector<double> speedups;    // raw / best, one a problem
  std::vector<double> floor_share; // copy floor / best, one a problem; 0: unknown
  // Of the raw kernel, where this attempt's measurement told its counters (counter_features).
  Features raw_counters;
  std::string configuration; // the best one of the first problem, for people
  double seconds = 0;        // device time that its score took

  bool is_measured() const { return stage == Stage::measured; }
  bool is_awaited() const { return stage == Stage::awaited; }
  bool is_broken() const { return !is_measured() && !is_awaited(); }
  double speedup() const { return is_measured() ? 1 / score : 0; }
};

class SearchTree {
public:
  // With a root whose score is 1: the raw kernel.
  explicit SearchTree(std::string raw_candidate);

  // Appends a child; fills in its id and parent.
  NodeId add(NodeId parent, Node node);
  // Puts what became of an awaited node in its place; its id, parent, children, action and reason stay.
  void settle(NodeId id, Node outcome);
  std::vector<NodeId> awaited() const; // oldest first

  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  Node& node(NodeId id) { return nodes_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return nodes_.size(); }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<NodeId> siblings(NodeId id) const; // the parent's other children
  int depth(NodeId id) const;                    // 0 for the root
  std::vector<NodeId> path(NodeId id) const;     // from the root, which is first
  // The node with that candidate; nothing where there is none.
  std::optional<NodeId> find(const std::string& candidate) const;

  // The leaderboard: the best correct candidates, the raw kernel among them, best first; equal scores by age.
  std::vector<NodeId> leaders(std::size_t count) const;
  NodeId best() const { return leaders(1).front(); }

  // Infinite scores are written as null. What was written is read back equal.
  nlohmann::ordered_json to_json() const;
  static Result<SearchTree> from_json(const nlohmann::ordered_json& json);

private:
  std::vector<Node> nodes_;
};

} // namespace lathe::refactor::agents
