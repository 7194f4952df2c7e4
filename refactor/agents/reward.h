// MTMC's staged reward (arXiv 2511.20100; values read off the paper's overview figure), with a decay of our
// own.
#pragma once

#include "refactor/agents/search_tree.h"

#include <vector>

namespace lathe::refactor::agents {

struct RewardOptions {
  double compile_failed = -1.0, compiled = 0.1;
  double run_failed = -0.5, ran = 0.5;
  double faster = 1.0;      // than the step before, beyond `noise`
  double noise = 0.01;      // ours
  double decay = 0.05;      // ours: times the step's number, taken off every step
  double gain_weight = 2.0; // ours: times log(previous time / time); 0: the paper's stages only
};

// One step's reward: number `step` (1 is the first), which came to `stage` and to `speedup` over the raw
// kernel, where the state before had `previous`.
double staged_reward(Stage stage, double speedup, double previous, int step, const RewardOptions& options);

struct RewardedStep {
  std::string state; // state_key() that the step led to
  Stage stage = Stage::measured;
  double speedup = 1;
};

// The rewards of a sequence that starts at `start` with speed-up 1. A step back to a state that the sequence
// has visited gives back what was paid since: a cycle's return is what the decay took, which is below 0.
std::vector<double> sequence_rewards(const std::string& start, const std::vector<RewardedStep>& steps,
                                     const RewardOptions& options);

} // namespace lathe::refactor::agents
