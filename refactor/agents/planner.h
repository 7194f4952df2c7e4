// Who decides what is tried next at a chosen node. A planner sees facts and legal actions; it decides nothing
// about what a candidate is worth.
#pragma once

#include "refactor/agents/policy.h"
#include "refactor/agents/transition_graph.h"

#include <memory>
#include <random>

namespace lathe::refactor::agents {

// What a planner is told of a node.
struct Situation {
  const SearchTree* tree = nullptr;
  NodeId node = root_node;
  Features facts;                // of the kernel, its problems and the node's last measurement
  std::vector<Action> legal;     // not tried here yet, in the enumeration's order
  std::vector<Action> history;   // that led here, oldest first
  std::vector<Direction> prefix; // their directions, most recent first
};

struct Plan {
  std::size_t choice = 0; // index into Situation::legal
  Action action;          // what is to be done; by a model's own instruction: `rule` empty, the region, `why`
  std::string instruction; // of a model: the grounded instruction, anchored text; empty: the action alone
  std::string reason;      // why: for the history
};

class Planner {
public:
  virtual ~Planner() = default;
  virtual std::string name() const = 0;
  // `legal` is not empty.
  virtual Result<Plan> plan(const Situation& situation, std::mt19937_64& random) = 0;
  // What became of a plan. `gain`: log of the parent's time over the child's; meaningless where it failed.
  virtual void learn(const Situation&, const Plan&, bool /*failed*/, double /*gain*/) {}
  // What it learnt besides the memory, for a run that is resumed; finite numbers.
  virtual std::vector<double> state() const { return {}; }
  virtual void restore(const std::vector<double>& /*state*/) {}
};

// Every legal action with the same probability.
std::unique_ptr<Planner> make_uniform_planner();
// The static priors of the directions, without experience; equal within a direction.
std::unique_ptr<Planner> make_heuristic_planner();

struct MemoryOptions {
  enum class Form {
    hierarchical,
    flat,            // strategies alone, whatever their direction
    directions_only, // directions alone, each of their strategies alike
  } form = Form::hierarchical;
  bool use_prefix = true, position_aware = true;
  bool update = true;        // false: a frozen memory
  bool guard = true;         // against negative transfer
  double temperature = 0.03; // of the softmax over scores, in the unit of gains
  std::string source;        // under which experience is recorded: kernel and machine
  std::string except = {};   // a source that is left out when scoring
};

// HTAM: a direction by score, then one of its strategies by what they gained; a uniform choice instead, in
// the share that the guard distrusts the memory. `memory` is updated in place and must outlive the planner.
std::unique_ptr<Planner> make_memory_planner(TransitionGraph& memory, MemoryOptions options);

// MTMC's policy over the enumerated actions: learned weights (policy.h), or a small language model
// (language_policy.h).
class MacroPolicy {
public:
  virtual ~MacroPolicy() = default;
  virtual std::string name() const = 0; // "the learned policy"
  // One logit a legal action, in their order. `legal` is not empty.
  virtual Result<std::vector<double>> logits(const Situation& situation) = 0;
};
std::unique_ptr<MacroPolicy> make_learned_policy(Policy policy);

// MTMC: softmax of a policy's logits over the legal actions; with a memory, its scores join the policy's in
// the share that the guard trusts them. Where the policy has no logits the memory plans, without one the
// directions' priors, and the reason says so.
std::unique_ptr<Planner> make_policy_planner(std::unique_ptr<MacroPolicy> policy, TransitionGraph* memory,
                                             MemoryOptions options);

// Probabilities from scores, by softmax; sums to 1.
std::vector<double> softmax(const std::vector<double>& scores, double temperature);

} // namespace lathe::refactor::agents
