#include "refactor/agents/planner.h"

#include "refactor/agents/selection.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace lathe::refactor::agents {
namespace {

Plan plan_of(const Situation& situation, std::size_t choice, std::string reason) {
  Plan plan;
  plan.choice = choice;
  plan.action = situation.legal[choice];
  plan.reason = std::move(reason);
  return plan;
}

class UniformPlanner : public Planner {
public:
  std::string name() const override { return "uniform"; }
  Result<Plan> plan(const Situation& situation, std::mt19937_64& random) override {
    return plan_of(situation, *draw_by_weight(std::vector<double>(situation.legal.size(), 1.0), random),
                   fmt::format("one of {} legal actions, by lot", situation.legal.size()));
  }
};

// Scores of the legal actions from a memory, and its bookkeeping.
class MemoryVoice {
public:
  MemoryVoice(TransitionGraph* memory, MemoryOptions options)
      : memory_(memory), options_(std::move(options)) {
    score_.position_aware = options_.position_aware;
    score_.except = options_.except;
    if (!options_.use_prefix)
      score_.prefix_weights.clear();
  }

  double direction_score(const Situation& situation, Direction direction) const {
    return memory_->score(direction, situation.facts, situation.prefix, score_);
  }
  double strategy_score(const Action& action) const {
    return memory_->strategy_score(action.direction, action.strategy(), score_);
  }
  // What the memory foretells as the action's gain: experience only, no priors.
  double foretold(const Action& action) const { return strategy_score(action); }

  void learn(const Situation& situation, const Plan& plan, bool failed, double gain) {
    if (!memory_ || plan.action.rule.empty())
      return;
    if (options_.guard)
      guard_.observe(foretold(plan.action), failed ? -score_.risk : gain);
    if (options_.update)
      memory_->update(options_.source, situation.prefix, plan.action.direction, plan.action.strategy(),
                      failed, gain);
  }
  double trust() const { return !memory_ ? 0 : options_.guard ? guard_.trust() : 1; }
  const MemoryOptions& options() const { return options_; }
  TransferGuard& guard() { return guard_; }
  const TransferGuard& guard() const { return guard_; }

private:
  TransitionGraph* memory_;
  MemoryOptions options_;
  ScoreOptions score_;
  TransferGuard guard_;
};

std::vector<Direction> directions_of(const std::vector<Action>& actions) {
  std::vector<Direction> directions;
  for (const Action& action : actions)
    if (std::find(directions.begin(), directions.end(), action.direction) == directions.end())
      directions.push_back(action.direction);
  return directions;
}

// Probabilities of the actions: a direction by its score, then a strategy of that direction by its own.
std::vector<double> hierarchical(const Situation& situation, const MemoryVoice& voice) {
  const std::vector<Direction> directions = directions_of(situation.legal);
  const bool uses_strategies = voice.options().form != MemoryOptions::Form::directions_only;
  std::vector<double> scores;
  for (const Direction direction : directions)
    scores.push_back(voice.direction_score(situation, direction));
  const std::vector<double> of_direction = softmax(scores, voice.options().temperature);
  std::vector<double> result(situation.legal.size());
  for (std::size_t d = 0; d < directions.size(); ++d) {
    std::vector<std::size_t> members;
    std::vector<double> local;
    for (std::size_t i = 0; i < situation.legal.size(); ++i)
      if (situation.legal[i].direction == directions[d]) {
        members.push_back(i);
        local.push_back(uses_strategies ? voice.strategy_score(situation.legal[i]) : 0);
      }
    const std::vector<double> within = softmax(local, voice.options().temperature);
    for (std::size_t k = 0; k < members.size(); ++k)
      result[members[k]] = of_direction[d] * within[k];
  }
  return result;
}

std::vector<double> flat(const Situation& situation, const MemoryVoice& voice) {
  std::vector<double> scores;
  for (const Action& action : situation.legal)
    scores.push_back(voice.strategy_score(action));
  return softmax(scores, voice.options().temperature);
}

// The memory's choice in the share that it is trusted, else by lot.
Plan plan_by_memory(const Situation& situation, const MemoryVoice& voice, std::mt19937_64& random) {
  const bool is_flat = voice.options().form == MemoryOptions::Form::flat;
  std::vector<double> weights = is_flat ? flat(situation, voice) : hierarchical(situation, voice);
  const double trust = voice.trust(), other = (1 - trust) / static_cast<double>(weights.size());
  for (double& weight : weights)
    weight = trust * weight + other;
  const std::size_t choice = *draw_by_weight(weights, random);
  return plan_of(situation, choice,
                 fmt::format("{}: {} with probability {:.2f}, memory trusted {:.2f}",
                             to_string(situation.legal[choice].direction), situation.legal[choice].strategy(),
                             weights[choice], trust));
}

class MemoryPlanner : public Planner {
public:
  MemoryPlanner(TransitionGraph& memory, MemoryOptions options) : voice_(&memory, std::move(options)) {}
  std::string name() const override { return "memory"; }
  Result<Plan> plan(const Situation& situation, std::mt19937_64& random) override {
    return plan_by_memory(situation, voice_, random);
  }
  void learn(const Situation& situation, const Plan& plan, bool failed, double gain) override {
    voice_.learn(situation, plan, failed, gain);
  }
  std::vector<double> state() const override { return voice_.guard().state(); }
  void restore(const std::vector<double>& state) override { voice_.guard().restore(state); }

private:
  MemoryVoice voice_;
};

// Owns a memory without experience: the priors alone.
class HeuristicPlanner : public Planner {
public:
  std::string name() const override { return "heuristic"; }
  Result<Plan> plan(const Situation& situation, std::mt19937_64& random) override {
    MemoryOptions options;
    options.guard = false;
    const std::vector<double> weights = hierarchical(situation, MemoryVoice(&priors_, options));
    const std::size_t choice = *draw_by_weight(weights, random);
    return plan_of(situation, choice,
                   fmt::format("{} by its prior", to_string(situation.legal[choice].direction)));
  }

private:
  TransitionGraph priors_;
};

class LearnedPolicy : public MacroPolicy {
public:
  explicit LearnedPolicy(Policy policy) : policy_(std::move(policy)) {}
  std::string name() const override { return "the learned policy"; }
  Result<std::vector<double>> logits(const Situation& situation) override {
    return policy_.logits(situation.facts, situation.history, situation.legal);
  }

private:
  Policy policy_;
};

class PolicyPlanner : public Planner {
public:
  PolicyPlanner(std::unique_ptr<MacroPolicy> policy, TransitionGraph* memory, MemoryOptions options)
      : policy_(std::move(policy)), has_memory_(memory != nullptr), voice_(memory, std::move(options)) {}
  std::string name() const override { return "policy"; }
  Result<Plan> plan(const Situation& situation, std::mt19937_64& random) override {
    auto given = policy_->logits(situation);
    if (!given.ok()) {
      Plan plan;
      if (has_memory_) {
        plan = plan_by_memory(situation, voice_, random);
      } else {
        LATHE_TRY(plan, priors_.plan(situation, random));
      }
      plan.reason += fmt::format(" (in place of {}: {})", policy_->name(), given.error().sentence());
      return plan;
    }
    std::vector<double>& logits = *given;
    if (const double trust = voice_.trust(); trust > 0)
      for (std::size_t i = 0; i < logits.size(); ++i)
        logits[i] += trust / voice_.options().temperature *
                     (voice_.strategy_score(situation.legal[i]) +
                      voice_.direction_score(situation, situation.legal[i].direction)) /
                     2;
    const std::vector<double> weights = softmax(logits, 1);
    const std::size_t choice = *draw_by_weight(weights, random);
    return plan_of(situation, choice,
                   fmt::format("{} with probability {:.2f} by {}", situation.legal[choice].label(),
                               weights[choice], policy_->name()));
  }
  void learn(const Situation& situation, const Plan& plan, bool failed, double gain) override {
    voice_.learn(situation, plan, failed, gain);
  }
  std::vector<double> state() const override { return voice_.guard().state(); }
  void restore(const std::vector<double>& state) override { voice_.guard().restore(state); }

private:
  std::unique_ptr<MacroPolicy> policy_;
  HeuristicPlanner priors_;
  bool has_memory_;
  MemoryVoice voice_;
};

} // namespace

std::vector<double> softmax(const std::vector<double>& scores, double temperature) {
  std::vector<double> result;
  const double highest = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) {
    result.push_back(std::exp((score - highest) / temperature));
    sum += result.back();
  }
  for (double& probability : result)
    probability /= sum;
  return result;
}

std::unique_ptr<Planner> make_uniform_planner() {
  return std::make_unique<UniformPlanner>();
}
std::unique_ptr<Planner> make_heuristic_planner() {
  return std::make_unique<HeuristicPlanner>();
}
std::unique_ptr<Planner> make_memory_planner(TransitionGraph& memory, MemoryOptions options) {
  return std::make_unique<MemoryPlanner>(memory, std::move(options));
}
std::unique_ptr<MacroPolicy> make_learned_policy(Policy policy) {
  return std::make_unique<LearnedPolicy>(std::move(policy));
}
std::unique_ptr<Planner> make_policy_planner(std::unique_ptr<MacroPolicy> policy, TransitionGraph* memory,
                                             MemoryOptions options) {
  return std::make_unique<PolicyPlanner>(std::move(policy), memory, std::move(options));
}

} // namespace lathe::refactor::agents
