// A language model in the roles of STARK: planner, coder and debugger, each with its temperature and its
// context set. What it says is text to be judged: a plan is checked against the legal actions or the kernel's
// own bytes, code against the anchors, and what is left goes to the guard and the tuner like any other
// candidate.
#pragma once

#include "refactor/agents/anchors.h"
#include "refactor/agents/context_sets.h"
#include "refactor/agents/planner.h"
#include "refactor/llm/llm.h"

#include <functional>

namespace lathe::refactor::agents {

// What the roles need besides the tree.
struct ModelTask {
  Candidate raw; // of the source
  std::string architecture = "sm_90";
  std::int64_t max_output_tokens = 16384;
  std::size_t leaders = 3;                 // r of the planner's context
  const TransitionGraph* memory = nullptr; // whose strategies the coder is shown
  // The text of a node's candidate; nothing where none was written. Of a broken node: what is broken.
  std::function<std::optional<Candidate>(NodeId)> candidate_of;
};

// Asks for one of the legal actions, or, where `may_instruct`, for a grounded instruction: the kernel with
// anchors and what to do inside. Where the model does not answer, answers something else or has spent its
// budget, `otherwise` plans, and the reason says so.
std::unique_ptr<Planner> make_model_planner(llm::Conversation& conversation, const ModelTask& task,
                                            bool may_instruct, std::unique_ptr<Planner> otherwise);

// Writes what a plan asks for on `base`, the parent's candidate; repairs it where the parent is broken. The
// answer changes nothing outside the anchors. Errors are the diagnosis of the attempt.
Result<Candidate> write_by_model(llm::Conversation& conversation, const ModelTask& task,
                                 const SearchTree& tree, NodeId parent, const Plan& plan,
                                 const Candidate& base);

// The context of a role in words: one part a node, headed "node ID", in the order of context_set().
std::string context_words(const SearchTree& tree, Role role, NodeId at, const ModelTask& task);

// The anchors of an action: its region, and the template's header, which takes new parameters.
Result<std::vector<Anchor>> anchors_of(const Candidate& base, const Action& action);

} // namespace lathe::refactor::agents
