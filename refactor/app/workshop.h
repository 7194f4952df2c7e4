// The live environment of the loop: candidates are written by their author, judged by the guard and scored by
// the tuner, here or through an evaluation queue.
#pragma once

#include "refactor/agents/loop.h"
#include "refactor/app/subject.h"
#include "refactor/guard/guard.h"

#include <filesystem>
#include <functional>
#include <map>

namespace lathe::refactor {

// Scores a candidate that the guard accepted; nothing while an answer is awaited. An Error means that there
// is no device.
using Scorer = std::function<Result<std::optional<QueueAnswer>>(
    const QueueRequest& request, const TuningSpec& spec, const std::filesystem::path& certificate)>;

Result<Certificate> judge_here(const TuningSpec& spec, const GuardOptions& guard);

// What an author other than the rules makes of a plan: a candidate, or an Error whose sentence is the
// diagnosis.
using Author = std::function<Result<Candidate>(const agents::SearchTree& tree, agents::NodeId parent,
                                               const agents::Plan& plan, const Candidate& base)>;

// How a template is judged; a model's in a process of its own.
using Judge = std::function<Result<Certificate>(const TuningSpec& spec, const GuardOptions& guard)>;

struct WorkshopOptions {
  std::string name;             // of the templates
  std::filesystem::path folder; // candidates/KEY/ lie below it
  int problems = 2;             // candidates are scored on, spread by size
  double most_bytes = 64e6;     // of such a problem, unless none is that small
  int evaluations = 20;         // configurations a candidate and problem
  GuardOptions guard;
  Judge judge = judge_here;
  bool can_repair = false;                     // the author mends broken candidates
  std::function<void(const std::string&)> say; // a line a stage
};

class Workshop : public agents::Environment {
public:
  // `subject` must outlive the workshop. Without an author the rules write.
  static Result<std::unique_ptr<Workshop>> open(const Subject& subject, WorkshopOptions options,
                                                Scorer scorer, Author author = {});

  agents::Features facts(const agents::SearchTree& tree, agents::NodeId node) override;
  Result<std::vector<agents::Option>> options(const agents::SearchTree& tree, agents::NodeId node) override;
  Result<agents::Node> attempt(const agents::SearchTree& tree, agents::NodeId parent,
                               const agents::Plan& plan) override;
  Result<agents::Node> outcome(const agents::SearchTree& tree, agents::NodeId awaited) override;
  bool can_repair() const override { return options_.can_repair; }

  const std::string& root_key() const { return root_key_; }
  OutputPaths paths_of(const std::string& candidate) const;
  // The candidate of a node, read back where this process did not make it; of a node for which nothing was
  // written, its parent's.
  Result<Candidate> candidate_of(const agents::SearchTree& tree, agents::NodeId node);

private:
  Workshop(const Subject& subject, WorkshopOptions options, Scorer scorer, Author author);
  Result<Candidate> write(const agents::SearchTree& tree, agents::NodeId parent, const agents::Plan& plan);
  Result<Certificate> judge_candidate(const Candidate& candidate, const OutputPaths& paths, TuningSpec& spec,
                                      std::uint64_t seed);
  // The node with its score, or awaited. `id`: of the node in the tree, or that it will have; what is older
  // is to be answered first.
  Result<agents::Node> score(const agents::SearchTree& tree, agents::Node node, const TuningSpec& spec,
                             agents::NodeId id) const;

  const Subject& subject_;
  WorkshopOptions options_;
  std::vector<std::string> problems_;
  Scorer scorer_;
  Author author_;
  ParseOptions parse_;
  Candidate root_;
  std::string root_key_;
  agents::Features facts_;
  std::map<std::string, Candidate> candidates_; // by key
  std::map<std::string, std::vector<agents::Option>> offers_;
};

// A candidate with everything that a template needs, for reading back what a model wrote.
nlohmann::ordered_json candidate_json(const Candidate& candidate);
Result<Candidate> candidate_from(const nlohmann::ordered_json& json, const Candidate& raw);

} // namespace lathe::refactor
