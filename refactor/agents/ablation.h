// Arms at equal budgets over recorded trees: one kernel left out at a time, several seeds, attempts counted.
#pragma once

#include "refactor/agents/recorded_environment.h"
#include "refactor/llm/llm.h"

#include <nlohmann/json_fwd.hpp>

namespace lathe::refactor::agents {

struct Arm {
  enum class Memory { none, cold, warm, random, frozen, flat, no_local };
  std::string name;
  std::string planner = "uniform"; // uniform, heuristic, memory, policy
  std::string walk = "tree";       // tree, chain, restart, one-shot
  bool direct = false;             // one configuration in place of a search
  bool equal_runs = false;         // as many timed runs as a search takes, in place of as many attempts
  Memory memory = Memory::none;
  bool use_prefix = true, position_aware = true, guard = true;
  int steps = 6;
  // A language model that weighs the actions in the learned policy's place, as make_likelihood_provider()
  // reads it; empty: the learned policy. Its budget is that of all runs of the arm; where it is spent, the
  // planner goes on as without a policy.
  std::string policy = {};
  double policy_temperature = 1;
  llm::Budget policy_budget = {};
};

struct AblationPlan {
  std::vector<Arm> arms;
  std::vector<std::uint64_t> seeds{1, 2, 3, 4, 5};
  int attempts = 30;
  double near = 0.95; // of the best template found by anybody counts as there
  TrainingOptions training;
  SelectionOptions selection;
};

// Reads a plan; every arm and number it does not state is the default. Errors name the field.
Result<AblationPlan> plan_from_json(const nlohmann::ordered_json& json);
// The arms of the papers' tables, each a difference from the full one.
std::vector<Arm> default_arms();

// One arm on one kernel under one seed.
struct ArmRun {
  std::string kernel;
  std::uint64_t seed = 0;
  std::vector<double> best;   // speed-up of the best candidate after each attempt; starts with attempt 1
  double optimum = 0;         // of any template recorded
  std::optional<int> reached; // the first attempt within `near` of the optimum
  int attempts = 0, timed_runs = 0;
  std::int64_t calls = 0, tokens = 0; // of the arm's language model
  double seconds = 0;                 // of this process
  double final_speedup() const { return best.empty() ? 1 : best.back(); }
};

struct ArmResult {
  Arm arm;
  std::vector<ArmRun> runs; // kernel by kernel, seed by seed
};

struct AblationResult {
  AblationPlan plan;
  std::vector<ArmResult> arms;
  std::vector<std::string> kernels;
  std::string device;
  bool is_host = false;
  double training_seconds = 0;
  TransitionGraph memory; // of all kernels
};

// Trees without a measured action are left out. Fails where fewer than two are left. `say` gets a line an
// arm.
Result<AblationResult> run_ablation(const std::vector<OfflineTree>& trees, const AblationPlan& plan,
                                    const std::function<void(const std::string&)>& say);

// What a uniform choice of 30 attempts on a tree teaches: experience under the tree's kernel as source.
TransitionGraph memory_of(const OfflineTree& tree, std::uint64_t seed);

// Summaries of an arm.
struct Band {
  double median = 0, low = 0, high = 0; // the interval: 95 %, by bootstrap over kernels and seeds
};
// Attempts until within `near`; a run that never got there counts as one more than its budget.
Band attempts_to_near(const ArmResult& arm, const AblationPlan& plan);
// Geometric mean over kernels of the final speed-up, one number a seed.
std::vector<double> geometric_means(const ArmResult& arm, const AblationPlan& plan);
// Median over kernels and seeds of best / optimum after each attempt.
std::vector<double> median_curve(const ArmResult& arm, int attempts);

} // namespace lathe::refactor::agents
