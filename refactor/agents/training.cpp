// Training of the macro policy: PPO on offline trees.
#include "refactor/agents/counters.h"
#include "refactor/agents/planner.h"
#include "refactor/agents/selection.h"

#include <chrono>
#include <cmath>
#include <fmt/format.h>

namespace lathe::refactor::agents {
namespace {

// One choice of an episode.
struct Step {
  std::vector<std::vector<double>> features; // of each legal action
  std::size_t choice = 0;
  double probability = 1; // under the policy that chose
  double advantage = 0;   // first the discounted return
};

struct Episode {
  std::size_t tree = 0;
  std::vector<Step> steps;
  double total = 0;
};

std::vector<double> probabilities(const Policy& policy, const Step& step) {
  std::vector<double> logits;
  for (const std::vector<double>& values : step.features) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += policy.weights[i] * values[i];
    logits.push_back(sum);
  }
  return softmax(logits, 1);
}

// The edges of a state that a policy may choose: done or failed, but recorded and measured.
std::vector<const RecordedEdge*> choices(const OfflineTree& tree, std::size_t state) {
  std::vector<const RecordedEdge*> result;
  for (const RecordedEdge& edge : tree.states[state].edges)
    if (edge.child == RecordedEdge::failed ||
        (edge.child >= 0 && tree.is_measured(static_cast<std::size_t>(edge.child))))
      result.push_back(&edge);
  return result;
}

Episode play(const OfflineTree& tree, std::size_t index, const Policy& policy, const TrainingOptions& options,
             std::mt19937_64& random) {
  Episode episode{index, {}, 0};
  std::vector<RewardedStep> trail;
  std::vector<Action> history;
  std::size_t at = 0;
  for (int number = 0; number < options.steps; ++number) {
    const auto edges = choices(tree, at);
    if (edges.empty())
      break;
    const Features facts = recorded_facts(tree, at);
    Step step;
    for (const RecordedEdge* edge : edges)
      step.features.push_back(Policy::features(facts, history, edge->action));
    const std::vector<double> weights = probabilities(policy, step);
    step.choice = *draw_by_weight(weights, random);
    step.probability = weights[step.choice];
    episode.steps.push_back(std::move(step));
    const RecordedEdge& taken = *edges[episode.steps.back().choice];
    if (taken.child == RecordedEdge::failed) {
      trail.push_back({"", Stage::not_written, 0});
      break;
    }
    at = static_cast<std::size_t>(taken.child);
    const double speedup = tree.speedup(at);
    trail.push_back({tree.states[at].key, speedup > 0 ? Stage::measured : Stage::not_run, speedup});
    history.push_back(taken.action);
    if (speedup <= 0)
      break;
  }
  const std::vector<double> rewards = sequence_rewards(tree.states[0].key, trail, options.reward);
  double value = 0;
  for (std::size_t i = rewards.size(); i-- > 0;) {
    value = rewards[i] + options.discount * value;
    episode.steps[i].advantage = value;
    episode.total += rewards[i];
  }
  return episode;
}

// Takes the mean over a kernel's episodes off at each step, and scales to unit deviation.
void to_advantages(std::vector<Episode>& episodes, std::size_t trees) {
  for (std::size_t tree = 0; tree < trees; ++tree)
    for (std::size_t number = 0;; ++number) {
      double sum = 0, count = 0;
      for (const Episode& episode : episodes)
        if (episode.tree == tree && number < episode.steps.size()) {
          sum += episode.steps[number].advantage;
          ++count;
        }
      if (count == 0)
        break;
      for (Episode& episode : episodes)
        if (episode.tree == tree && number < episode.steps.size())
          episode.steps[number].advantage -= sum / count;
    }
  double squares = 0, count = 0;
  for (const Episode& episode : episodes)
    for (const Step& step : episode.steps) {
      squares += step.advantage * step.advantage;
      ++count;
    }
  const double deviation = std::sqrt(squares / std::max(count, 1.0)) + 1e-8;
  for (Episode& episode : episodes)
    for (Step& step : episode.steps)
      step.advantage /= deviation;
}

class Adam {
public:
  explicit Adam(std::size_t size) : first_(size, 0.0), second_(size, 0.0) {}
  // Ascends along the gradient.
  void step(std::vector<double>& weights, const std::vector<double>& gradient, double rate) {
    ++count_;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      first_[i] = 0.9 * first_[i] + 0.1 * gradient[i];
      second_[i] = 0.999 * second_[i] + 0.001 * gradient[i] * gradient[i];
      const double mean = first_[i] / (1 - std::pow(0.9, count_));
      const double square = second_[i] / (1 - std::pow(0.999, count_));
      weights[i] += rate * mean / (std::sqrt(square) + 1e-8);
    }
  }

private:
  std::vector<double> first_, second_;
  int count_ = 0;
};

// The gradient of PPO's clipped objective, of the entropy and of the weights' decay, averaged over the steps.
std::vector<double> gradient_of(const Policy& policy, const std::vector<Episode>& episodes,
                                const TrainingOptions& options) {
  std::vector<double> gradient(policy.weights.size(), 0.0);
  double count = 0;
  for (const Episode& episode : episodes)
    for (const Step& step : episode.steps) {
      ++count;
      const std::vector<double> now = probabilities(policy, step);
      const double ratio = now[step.choice] / step.probability;
      const bool is_clipped = (step.advantage > 0 && ratio > 1 + options.clip) ||
                              (step.advantage < 0 && ratio < 1 - options.clip);
      const double pull = is_clipped ? 0 : ratio * step.advantage;
      double mean_log = 0;
      for (const double probability : now)
        mean_log += probability * std::log(std::max(probability, 1e-12));
      for (std::size_t k = 0; k < now.size(); ++k) {
        // d log p(choice) / d logit k, and d entropy / d logit k.
        const double of_log = (k == step.choice ? 1 : 0) - now[k];
        const double of_entropy = -now[k] * (std::log(std::max(now[k], 1e-12)) - mean_log);
        const double amount = pull * of_log + options.entropy * of_entropy;
        for (std::size_t i = 0; i < gradient.size(); ++i)
          gradient[i] += amount * step.features[k][i];
      }
    }
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = gradient[i] / std::max(count, 1.0) - options.decay * policy.weights[i];
  return gradient;
}

} // namespace

Features recorded_facts(const OfflineTree& tree, std::size_t state) {
  Features facts = tree.facts;
  for (const std::vector<Features>* lists : {&tree.problem_facts, &tree.problem_counters})
    for (auto& feature : mean_of(*lists))
      facts.push_back(std::move(feature));
  double share = 0;
  for (const double each : tree.states[state].floor_share)
    share += each / static_cast<double>(tree.states[state].floor_share.size());
  facts.emplace_back("floor_share", share);
  return facts;
}

Result<TrainedPolicy> train_policy(const std::vector<OfflineTree>& trees, const TrainingOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<const OfflineTree*> usable;
  for (const OfflineTree& tree : trees)
    if (!choices(tree, 0).empty())
      usable.push_back(&tree);
  if (usable.empty())
    return Error{"cannot train a policy", "no tree has a measured action",
                 "answer the queue with lathe tune --queue, and read it with lathe explore --answers"};
  TrainedPolicy result;
  Adam adam(result.policy.weights.size());
  std::mt19937_64 random(options.seed);
  for (int round = 0; round < options.rounds; ++round) {
    std::vector<Episode> episodes;
    double total = 0;
    for (std::size_t tree = 0; tree < usable.size(); ++tree)
      for (int i = 0; i < options.episodes; ++i) {
        episodes.push_back(play(*usable[tree], tree, result.policy, options, random));
        total += episodes.back().total;
      }
    result.curve.mean_return.push_back(total / static_cast<double>(episodes.size()));
    to_advantages(episodes, usable.size());
    for (int pass = 0; pass < options.passes; ++pass)
      adam.step(result.policy.weights, gradient_of(result.policy, episodes, options), options.rate);
  }
  result.curve.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string kernels;
  for (const OfflineTree* tree : usable)
    kernels += (kernels.empty() ? "" : " ") + tree->kernel;
  result.policy.provenance =
      fmt::format("{} rounds, seed {}, on {} ({}{})", options.rounds, options.seed, kernels,
                  usable.front()->device, usable.front()->is_host ? ", not a GPU" : "");
  return result;
}

} // namespace lathe::refactor::agents
