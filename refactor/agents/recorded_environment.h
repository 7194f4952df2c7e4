// A recorded tree as an environment: attempts cost nothing and give what was measured then.
#pragma once

#include "refactor/agents/loop.h"

#include <map>

namespace lathe::refactor::agents {

class RecordedEnvironment : public Environment {
public:
  enum class Scoring {
    search, // what the template's short search found
    direct, // one of its configurations, by lot: rewriting without a template
  };
  // `tree` must outlive the environment. Only what was recorded and measured is offered.
  explicit RecordedEnvironment(const OfflineTree& tree, Scoring scoring = Scoring::search,
                               std::uint64_t seed = 1);

  Features facts(const SearchTree& tree, NodeId node) override;
  Result<std::vector<Option>> options(const SearchTree& tree, NodeId node) override;
  Result<Node> attempt(const SearchTree& tree, NodeId parent, const Plan& plan) override;

  // Timed runs that the attempts so far would have taken.
  int timed_runs() const { return timed_runs_; }

private:
  std::optional<std::size_t> state_of(const SearchTree& tree, NodeId node) const;
  double direct_score(const RecordedState& state);

  const OfflineTree& recorded_;
  Scoring scoring_;
  std::mt19937_64 random_;
  std::map<std::string, std::size_t> by_key_;
  int timed_runs_ = 0, draws_ = 0;
};

} // namespace lathe::refactor::agents
