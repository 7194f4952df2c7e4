#include "refactor/agents/reward.h"

#include <cmath>
#include <map>

namespace lathe::refactor::agents {

double staged_reward(Stage stage, double speedup, double previous, int step, const RewardOptions& options) {
  double reward = -options.decay * step;
  if (stage == Stage::not_written)
    return reward + options.compile_failed;
  reward += options.compiled;
  // What the guard refuses ran wrong, or would.
  if (stage == Stage::refused || stage == Stage::not_run || speedup <= 0)
    return reward + options.run_failed;
  reward += options.ran;
  if (speedup > previous * (1 + options.noise))
    reward += options.faster;
  return reward + options.gain_weight * std::log(speedup / previous);
}

std::vector<double> sequence_rewards(const std::string& start, const std::vector<RewardedStep>& steps,
                                     const RewardOptions& options) {
  std::vector<double> rewards;
  std::map<std::string, std::size_t> visited{{start, 0}}; // state: rewards paid until it was reached
  double previous = 1;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const RewardedStep& step = steps[i];
    const int number = static_cast<int>(i) + 1;
    if (const auto known = visited.find(step.state); known != visited.end()) {
      double given_back = 0;
      for (std::size_t k = known->second; k < rewards.size(); ++k)
        given_back += rewards[k] + options.decay * static_cast<double>(k + 1);
      rewards.push_back(-given_back - options.decay * number);
    } else {
      rewards.push_back(staged_reward(step.stage, step.speedup, previous, number, options));
    }
    visited[step.state] = rewards.size();
    if (step.stage == Stage::measured)
      previous = step.speedup;
  }
  return rewards;
}

} // namespace lathe::refactor::agents
