// A tree of recorded transformations and measured times: the environment in which policies are trained and
// arms are compared without a device. One a kernel; states that several orders of actions lead to are one.
#pragma once

#include "refactor/agents/actions.h"
#include "tuner/queue/queue.h"

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor::agents {

struct RecordedEdge {
  static constexpr int failed = -1;  // the action could not be done
  static constexpr int unknown = -2; // its result is outside the recorded part
  Action action;
  int child = unknown; // index of the state
  std::string failure; // why it could not be done
};

struct RecordedState {
  std::string key; // state_key()
  int depth = 0;   // fewest actions that lead here
  std::vector<std::string> knobs;
  std::string request;      // in the evaluation queue; empty for the raw kernel
  bool is_expanded = false; // its edges were enumerated
  std::vector<RecordedEdge> edges;
  std::vector<RefusedAction> refused;
  // As measured, one a problem of the tree and in its order. The raw kernel's is 1 by definition; 0: the
  // candidate failed there; negative: not measured.
  std::vector<double> speedup;     // raw / best of the template's short search
  std::vector<double> floor_share; // copy floor / best, 0: unknown
  // raw / each configuration that the search met, one list a problem; 0: it failed. What rewriting without a
  // template would have got had it written that configuration.
  std::vector<std::vector<double>> samples;
};

struct OfflineTree {
  std::string kernel, source;
  Features facts;                      // of the raw kernel's AST
  std::vector<std::string> problems;   // "n=16,d=4096"
  std::vector<Features> problem_facts; // one a problem: sizes of data and launch
  std::vector<Features>
      problem_counters;              // of the raw kernel, one a problem and empty where not read; or none
  std::vector<RecordedState> states; // [0] is the raw kernel
  std::string device, protocol;      // of the measured times; empty: none yet
  bool is_host = false;

  bool is_measured(std::size_t state) const;
  // Geometric mean over the problems of the measured speed-ups; 0 where the state failed or is not measured.
  double speedup(std::size_t state) const;
  double best_speedup() const;
};

nlohmann::ordered_json to_json(const OfflineTree& tree);
Result<OfflineTree> tree_from_json(const nlohmann::ordered_json& json, const std::string& name);
Result<OfflineTree> read_tree(const std::filesystem::path& file);
Status write_tree(const OfflineTree& tree, const std::filesystem::path& file);
// Every tree of a folder (*.json), by name, or of one file that holds a list of trees.
Result<std::vector<OfflineTree>> read_trees(const std::filesystem::path& folder_or_file);

// "n=16,d=4096" in any order, as a map.
std::map<std::string, std::int64_t> dimensions_of(const std::string& problem);

// Puts the answers' times into the tree; returns how many states are answered. A problem for which an answer
// has no number (its measurement failed) was not measured; a candidate that could not be evaluated at all
// failed. Scores for other problems than the tree's are refused, so that nothing is compared across sizes.
Result<int> adopt_answers(OfflineTree& tree, const QueueAnswers& answers);

} // namespace lathe::refactor::agents
