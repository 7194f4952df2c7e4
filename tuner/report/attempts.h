// What `lathe optimize` tried on a kernel, read from the history that it leaves: one row an attempt.
#pragma once

#include "tuner/base/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lathe {

struct Attempt {
  int id = 0, parent = 0;
  int depth = 1;             // below the raw kernel, whose depth is 0
  std::string action;        // "expose-unroll(UNROLL)", or that a model wrote it
  std::string outcome;       // "1.204 times as fast", or the stage at which it failed and the diagnosis
  std::string why;           // the planner's reason
  std::string configuration; // "BLOCK=64 VEC=4"; empty where nothing was measured
  bool is_best = false;
};

struct AttemptTree {
  std::string kernel, source, device;
  bool is_host = false;
  std::string ended;             // why the run stopped; empty: it has not
  std::string ledger;            // what it took, in words
  std::string baselines;         // raw / time of PyTorch, eager and compiled, in words
  std::vector<Attempt> attempts; // each behind its parent and its parent's earlier children
};

// FOLDER/history.json. Fails where there is none, or none of a version that is known.
Result<AttemptTree> read_attempts(const std::filesystem::path& folder);
// A list that is indented as the tree is.
std::string attempts_markdown(const AttemptTree& tree);
// A section of the page.
std::string attempts_html(const AttemptTree& tree);

} // namespace lathe
