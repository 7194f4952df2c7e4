// The outer loop: select, plan, generate, guard, tune, analyse, again. Who may say what is fixed here: a
// planner chooses, an author writes, and only the environment says what a candidate is worth.
#pragma once

#include "refactor/agents/planner.h"
#include "refactor/agents/selection.h"

#include <atomic>
#include <functional>

namespace lathe::refactor::agents {

// One legal action with the state that it leads to.
struct Option {
  Action action;
  std::string key; // state_key(); empty where it cannot be told before
  // Trying it again gives another candidate: the author draws numbers of its own.
  bool repeats = false;
};

// Where candidates are made and measured: the live one (refactor/app/workshop.h), or a recorded tree.
class Environment {
public:
  virtual ~Environment() = default;
  // Of the kernel, its problems, and the node's last measurement.
  virtual Features facts(const SearchTree& tree, NodeId node) = 0;
  virtual Result<std::vector<Option>> options(const SearchTree& tree, NodeId node) = 0;
  // Makes, judges and scores one candidate, or leaves it awaited where somebody else measures it. What is
  // wrong with the candidate is in the node; an Error means that nothing can be tried now, such as a device
  // that is gone.
  virtual Result<Node> attempt(const SearchTree& tree, NodeId parent, const Plan& plan) = 0;
  // What became of an awaited node: itself while there is no answer.
  virtual Result<Node> outcome(const SearchTree& tree, NodeId awaited) { return tree.node(awaited); }
  // Whether a broken node can be repaired by an author (debug).
  virtual bool can_repair() const { return false; }
};

struct LoopOptions {
  enum class Walk {
    tree,    // STARK's selection
    chain,   // always on from the newest candidate that works: roles without search
    restart, // always from the raw kernel
  } walk = Walk::tree;
  int attempts = 30; // STARK's budget
  int steps = 6;     // depth at most: HTAM's T
  int awaited = 4;   // candidates that wait for their scores at most, where somebody else measures them
  double device_seconds = 1e18;
  int plateau = 0;           // attempts without a new best after which it stops; 0: never
  double gain_noise = 0.01;  // a smaller gain is no new best
  double floor_share = 0.98; // of the copy bandwidth, on every problem: nothing is left to gain
  SelectionOptions selection;
  std::uint64_t seed = 1;
  // Asked before every attempt: a reason to end, such as a spent budget of model calls.
  std::function<std::optional<std::string>()> halt = {};
};

struct LoopEnd {
  std::string why;  // "the budget of 30 attempts is spent", ...
  int attempts = 0; // made in all, those before a resumption included
  int awaited = 0;  // candidates that still wait for their scores: the same call goes on later
  double device_seconds = 0;
};

// What happened in one attempt, for progress.
struct AttemptReport {
  NodeId node = root_node;
  bool is_best = false;
};

// Goes on from `tree`, however long it is: first with what became of its awaited nodes. Attempt k draws from
// a generator of its own, seeded by k: an interrupted run that is resumed makes the attempts that it would
// have made. `save` is called with every node that is new or settled, before anything else is tried. Ends
// waiting when as many candidates are awaited as may be, or when everything else is done.
Result<LoopEnd> run_loop(Environment& environment, Planner& planner, SearchTree& tree,
                         const LoopOptions& options, const std::atomic<bool>& stop,
                         const std::function<Status(const AttemptReport&)>& save);

// What a planner is told of a node.
Situation situation_of(const SearchTree& tree, NodeId node, Features facts, std::vector<Action> legal);

} // namespace lathe::refactor::agents
