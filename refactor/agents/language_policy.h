// A small language model as the macro policy (MTMC, arXiv 2511.20100): the legal actions are enumerated by
// deterministic code, and the model says only how likely each one's name is as the next words. It cannot name
// an action that is not offered, and nothing that it is shown can change more than these numbers.
#pragma once

#include "refactor/agents/planner.h"
#include "refactor/llm/likelihood.h"

#include <functional>

namespace lathe::refactor::agents {

struct LanguagePolicyOptions {
  // Of the softmax over log-probabilities; 1: the model's own distribution over the legal actions.
  double temperature = 1;
  // The text of a node's candidate; nothing where there is none, as in recorded trees: the model then sees
  // facts and actions alone.
  std::function<std::optional<Candidate>(NodeId)> candidate_of;
};

// Logit of an action: ln P(name | prompt) / temperature. The name's tokens are multiplied, not averaged: the
// softmax over products is the model's distribution given that the answer is a legal action, while a mean
// would favour names of which much is certain once begun. `conversation` must outlive the policy.
std::unique_ptr<MacroPolicy> make_language_policy(llm::Conversation& conversation,
                                                  LanguagePolicyOptions options);

// What the model is shown: orders, the kernel's text as data, facts, the steps so far with what they gave,
// and every legal action with its kind, direction, region and reason. An action's name follows behind it.
std::string policy_prompt(const Situation& situation, const std::optional<Candidate>& candidate);

} // namespace lathe::refactor::agents
