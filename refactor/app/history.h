// The state of one `lathe optimize` run on disk, and how it is shown.
#pragma once

#include "refactor/agents/search_tree.h"
#include "refactor/app/baselines.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lathe::refactor {

// What a model's questions came to.
struct ModelSpending {
  int calls = 0;
  std::int64_t tokens = 0; // input and output together
  double money = 0;        // in the currency of the prices; 0 without one
};

struct History {
  std::string kernel, name, source, source_hash;
  std::map<std::string, std::string> settings; // that decide what is tried: a resumed run must have the same
  std::string device;                          // where candidates were scored; empty: nowhere yet
  bool is_host = false;
  BaselineRatio baselines;           // raw / PyTorch on that device, where somebody measured it
  std::string ended;                 // why the loop stopped; empty: it did not yet
  ModelSpending model, policy;       // planner, coder and debugger together; a policy that is a model
  std::vector<double> planner_state; // Planner::state()
  agents::SearchTree tree{""};
};

// FOLDER/history.json, written whole after every attempt.
Result<History> read_history(const std::filesystem::path& folder);
Status write_history(const History& history, const std::filesystem::path& folder);
nlohmann::ordered_json to_json(const History& history);

// The tree, one attempt a line: what was tried, why, and what it gave; then the best beside PyTorch, eager
// and compiled.
std::string history_text(const History& history);

} // namespace lathe::refactor
