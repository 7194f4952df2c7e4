// The macro policy of MTMC (arXiv 2511.20100), light: a softmax over the enumerated actions whose logits are
// linear in features of state and action, trained by PPO on offline trees. MTMC's policy is a small language
// model: language_policy.h, behind the same interface (MacroPolicy of planner.h).
#pragma once

#include "refactor/agents/offline_tree.h"
#include "refactor/agents/reward.h"

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lathe::refactor::agents {

class Policy {
public:
  // All weights 0: uniform.
  Policy();

  // One logit an action.
  std::vector<double> logits(const Features& facts, const std::vector<Action>& history,
                             const std::vector<Action>& legal) const;
  // The features of one action, as many as weights; in a fixed order.
  static std::vector<double> features(const Features& facts, const std::vector<Action>& history,
                                      const Action& action);
  static const std::vector<std::string>& feature_names();

  std::vector<double> weights;
  // What it was trained on, for people: kernels, device, options.
  std::string provenance;

  nlohmann::ordered_json to_json() const;
  // Fails where the file's features are not this version's: it was trained on other actions.
  static Result<Policy> from_json(const nlohmann::ordered_json& json, const std::string& name);
};

Result<Policy> read_policy(const std::filesystem::path& file);
Status write_policy(const Policy& policy, const std::filesystem::path& file);

struct TrainingOptions {
  int rounds = 60;    // of gathering episodes and updating
  int episodes = 16;  // a kernel and round
  int steps = 6;      // an episode at most
  int passes = 4;     // over a round's episodes
  double clip = 0.2;  // PPO's
  double rate = 0.05; // of Adam
  double discount = 0.9;
  double entropy = 0.01; // bonus
  double decay = 1e-3;   // of the weights
  std::uint64_t seed = 1;
  RewardOptions reward;
};

struct TrainingCurve {
  std::vector<double> mean_return; // a round
  double seconds = 0;
};

struct TrainedPolicy {
  Policy policy;
  TrainingCurve curve;
};

// Proximal policy optimisation with a baseline a kernel and step. Deterministic under the seed. Fails where
// no tree has a measured action.
Result<TrainedPolicy> train_policy(const std::vector<OfflineTree>& trees, const TrainingOptions& options);

// Facts of a recorded state: the kernel's, those of its problems averaged, and the state's share of the copy
// floor.
Features recorded_facts(const OfflineTree& tree, std::size_t state);

} // namespace lathe::refactor::agents
