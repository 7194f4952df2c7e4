#include "refactor/agents/loop.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace lathe::refactor::agents {
namespace {

std::mt19937_64 generator(std::uint64_t seed, int attempt) {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(attempt)};
  return std::mt19937_64(sequence);
}

// What is left to try at each node, asked for once.
class Remaining {
public:
  Remaining(Environment& environment, const SearchTree& tree, const LoopOptions& options)
      : environment_(environment), tree_(tree), options_(options) {}

  Result<std::vector<Action>> at(NodeId node) {
    LATHE_TRY(const std::vector<Option> all, environment_.options(tree_, node));
    std::vector<Action> left;
    for (const Option& option : all) {
      const bool is_known = !option.key.empty() && tree_.find(option.key).has_value();
      const auto& children = tree_.node(node).children;
      const bool was_tried = std::any_of(children.begin(), children.end(), [&](NodeId child) {
        return tree_.node(child).action.label() == option.action.label();
      });
      if (!is_known && (!was_tried || option.repeats))
        left.push_back(option.action);
    }
    return left;
  }

  // For selection, which cannot fail: the first error is kept.
  bool any(NodeId node) {
    if (tree_.node(node).is_awaited())
      return false;
    if (tree_.node(node).is_broken())
      return environment_.can_repair() && tree_.node(node).children.empty();
    if (tree_.depth(node) >= options_.steps)
      return false;
    auto left = at(node);
    if (!left.ok()) {
      error = left.error();
      return false;
    }
    return !left->empty();
  }

  std::optional<Error> error;

private:
  Environment& environment_;
  const SearchTree& tree_;
  const LoopOptions& options_;
};

std::optional<NodeId> next_node(const SearchTree& tree, const LoopOptions& options, Remaining& remaining,
                                std::mt19937_64& random) {
  const auto can_expand = [&](NodeId node) { return remaining.any(node); };
  switch (options.walk) {
  case LoopOptions::Walk::tree:
    return select_node(tree, options.selection, can_expand, random);
  case LoopOptions::Walk::restart:
    return can_expand(root_node) ? std::optional(root_node) : std::nullopt;
  case LoopOptions::Walk::chain:
    for (std::size_t i = tree.size(); i-- > 0;)
      if (tree.nodes()[i].is_measured() && can_expand(static_cast<NodeId>(i)))
        return static_cast<NodeId>(i);
  }
  return std::nullopt;
}

bool is_at_the_floor(const Node& node, double share) {
  return !node.floor_share.empty() && std::all_of(node.floor_share.begin(), node.floor_share.end(),
                                                  [&](double each) { return each >= share; });
}

// Attempts since the best was last beaten beyond the noise; awaited ones say nothing yet.
int idle_attempts(const SearchTree& tree, double noise) {
  double best = 1;
  int idle = 0;
  for (std::size_t i = 1; i < tree.size(); ++i) {
    const Node& node = tree.nodes()[i];
    if (node.is_measured() && node.score < best * (1 - noise)) {
      best = node.score;
      idle = 0;
    } else if (!node.is_awaited()) {
      ++idle;
    }
  }
  return idle;
}

// What attempt number `attempt` is to be.
struct Proposed {
  NodeId parent = root_node;
  Situation situation;
  Plan plan;
};

// Nothing where nothing is left.
Result<std::optional<Proposed>> propose(Environment& environment, Planner& planner, const SearchTree& tree,
                                        const LoopOptions& options, int attempt) {
  std::mt19937_64 random = generator(options.seed, attempt);
  Remaining remaining(environment, tree, options);
  const auto parent = next_node(tree, options, remaining, random);
  if (remaining.error)
    return *remaining.error;
  if (!parent)
    return std::optional<Proposed>();
  std::vector<Action> legal;
  if (!tree.node(*parent).is_broken()) {
    LATHE_TRY(legal, remaining.at(*parent));
  }
  Proposed proposed{
      *parent, situation_of(tree, *parent, environment.facts(tree, *parent), std::move(legal)), {}};
  LATHE_TRY(proposed.plan, planner.plan(proposed.situation, random));
  return std::optional(std::move(proposed));
}

// Tells the planner what became of a plan.
void teach(Planner& planner, const SearchTree& tree, NodeId id, Situation situation, const Plan& plan) {
  if (situation.legal.empty()) // a repair
    return;
  const Node& node = tree.node(id);
  const double parent_score = tree.node(node.parent).score;
  const bool is_known = node.is_measured() && std::isfinite(parent_score);
  situation.tree = &tree;
  planner.learn(situation, plan, node.is_broken(), is_known ? std::log(parent_score / node.score) : 0);
}

// Why the loop ends before another attempt; nothing where it goes on.
std::optional<std::string> reason_to_end(const SearchTree& tree, const LoopOptions& options,
                                         double device_seconds) {
  if (static_cast<int>(tree.size()) - 1 >= options.attempts)
    return fmt::format("the budget of {} attempts is spent", options.attempts);
  if (device_seconds >= options.device_seconds)
    return "the budget of device time is spent";
  if (options.plateau > 0 && idle_attempts(tree, options.gain_noise) >= options.plateau)
    return fmt::format("{} attempts in a row found nothing better", options.plateau);
  if (is_at_the_floor(tree.node(tree.best()), options.floor_share))
    return "the best candidate moves its bytes as fast as a copy does";
  if (options.halt)
    return options.halt();
  return std::nullopt;
}

} // namespace

Situation situation_of(const SearchTree& tree, NodeId node, Features facts, std::vector<Action> legal) {
  Situation situation;
  situation.tree = &tree;
  situation.node = node;
  situation.facts = std::move(facts);
  situation.legal = std::move(legal);
  for (const NodeId each : tree.path(node))
    if (each != root_node)
      situation.history.push_back(tree.node(each).action);
  for (auto past = situation.history.rbegin(); past != situation.history.rend(); ++past)
    situation.prefix.push_back(past->direction);
  return situation;
}

Result<LoopEnd> run_loop(Environment& environment, Planner& planner, SearchTree& tree,
                         const LoopOptions& options, const std::atomic<bool>& stop,
                         const std::function<Status(const AttemptReport&)>& save) {
  LoopEnd end;
  for (const Node& node : tree.nodes())
    end.device_seconds += node.seconds;
  const auto ended = [&](std::string why) {
    end.why = std::move(why);
    end.attempts = static_cast<int>(tree.size()) - 1;
    end.awaited = static_cast<int>(tree.awaited().size());
    return end;
  };
  for (const NodeId id : tree.awaited()) {
    LATHE_TRY(Node outcome, environment.outcome(tree, id));
    if (outcome.is_awaited())
      continue;
    const double best_before = tree.node(tree.best()).score;
    const NodeId parent = tree.node(id).parent;
    end.device_seconds += outcome.seconds;
    tree.settle(id, std::move(outcome));
    const Node& node = tree.node(id);
    const bool is_repair = tree.node(parent).is_broken();
    teach(planner, tree, id,
          situation_of(tree, parent, environment.facts(tree, parent),
                       is_repair ? std::vector<Action>{} : std::vector{node.action}),
          {0, node.action, "", node.reason});
    LATHE_CHECK(save({id, node.score < best_before}));
  }
  while (true) {
    if (stop)
      return ended("it was interrupted");
    if (auto why = reason_to_end(tree, options, end.device_seconds))
      return ended(std::move(*why));
    if (const std::size_t waiting = tree.awaited().size();
        waiting > 0 && waiting >= static_cast<std::size_t>(options.awaited))
      return ended("as many candidates as may wait for their scores");
    const int attempt = static_cast<int>(tree.size()) - 1;
    LATHE_TRY(auto proposed, propose(environment, planner, tree, options, attempt));
    if (!proposed)
      return ended("no legal action is left");
    LATHE_TRY(Node made, environment.attempt(tree, proposed->parent, proposed->plan));
    if (stop && made.is_broken())
      return ended("it was interrupted");
    made.action = proposed->plan.action;
    made.reason = proposed->plan.reason;
    const double best_before = tree.node(tree.best()).score;
    end.device_seconds += made.seconds;
    const NodeId id = tree.add(proposed->parent, std::move(made));
    const Node& node = tree.node(id);
    if (!node.is_awaited())
      teach(planner, tree, id, std::move(proposed->situation), proposed->plan);
    LATHE_CHECK(save({id, node.score < best_before}));
  }
}

} // namespace lathe::refactor::agents
