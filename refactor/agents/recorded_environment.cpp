#include "refactor/agents/recorded_environment.h"

#include <algorithm>
#include <cmath>

namespace lathe::refactor::agents {

RecordedEnvironment::RecordedEnvironment(const OfflineTree& tree, Scoring scoring, std::uint64_t seed)
    : recorded_(tree), scoring_(scoring), random_(seed) {
  for (std::size_t i = 0; i < tree.states.size(); ++i)
    by_key_[tree.states[i].key] = i;
}

std::optional<std::size_t> RecordedEnvironment::state_of(const SearchTree& tree, NodeId node) const {
  // Behind '#' stands which draw of the same template it was.
  const std::string& candidate = tree.node(node).candidate;
  const auto found = by_key_.find(candidate.substr(0, candidate.find('#')));
  return found == by_key_.end() ? std::nullopt : std::optional(found->second);
}

Features RecordedEnvironment::facts(const SearchTree& tree, NodeId node) {
  return recorded_facts(recorded_, state_of(tree, node).value_or(0));
}

Result<std::vector<Option>> RecordedEnvironment::options(const SearchTree& tree, NodeId node) {
  std::vector<Option> result;
  const auto state = state_of(tree, node);
  if (!state)
    return result;
  for (const RecordedEdge& edge : recorded_.states[*state].edges) {
    if (edge.child == RecordedEdge::failed)
      result.push_back({edge.action, {}});
    else if (edge.child >= 0 && recorded_.is_measured(static_cast<std::size_t>(edge.child))) {
      // Written directly, the same change with other numbers is another candidate.
      if (scoring_ == Scoring::direct)
        result.push_back({edge.action, {}, true});
      else
        result.push_back({edge.action, recorded_.states[static_cast<std::size_t>(edge.child)].key});
    }
  }
  return result;
}

double RecordedEnvironment::direct_score(const RecordedState& state) {
  double logarithm = 0;
  for (const std::vector<double>& samples : state.samples) {
    ++timed_runs_;
    const double sample = samples.empty() ? 0 : samples[random_() % samples.size()];
    if (sample <= 0)
      return 0;
    logarithm += std::log(sample);
  }
  return state.samples.empty() ? 0 : std::exp(logarithm / static_cast<double>(state.samples.size()));
}

Result<Node> RecordedEnvironment::attempt(const SearchTree& tree, NodeId parent, const Plan& plan) {
  Node node;
  node.author = "rules";
  const auto state = state_of(tree, parent);
  const auto& edges = recorded_.states[state.value_or(0)].edges;
  const auto edge = std::find_if(edges.begin(), edges.end(), [&](const RecordedEdge& each) {
    return each.action.label() == plan.action.label();
  });
  if (!state || edge == edges.end())
    return Error{"recorded tree of " + recorded_.kernel, "it holds no " + plan.action.label() + " here", ""};
  if (edge->child < 0) {
    node.stage = Stage::not_written;
    node.diagnostics = edge->failure;
    return node;
  }
  const auto child = static_cast<std::size_t>(edge->child);
  const RecordedState& made = recorded_.states[child];
  node.candidate = scoring_ == Scoring::direct ? made.key + "#" + std::to_string(++draws_) : made.key;
  double speedup = 0;
  if (scoring_ == Scoring::direct) {
    speedup = direct_score(made);
  } else {
    speedup = recorded_.speedup(child);
    for (const std::vector<double>& samples : made.samples)
      timed_runs_ += static_cast<int>(samples.size());
  }
  if (speedup <= 0) {
    node.stage = Stage::not_run;
    node.diagnostics = "no configuration of it could be measured";
    return node;
  }
  node.score = 1 / speedup;
  node.speedups = made.speedup;
  node.floor_share = made.floor_share;
  return node;
}

} // namespace lathe::refactor::agents
