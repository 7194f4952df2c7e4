// The agentic loop: what is tried next on a kernel, by whom, and what is learnt from it. docs/agents.md
// explains the parts with their formulas, and says which are the papers' and which ours.
//
// The loop (loop.h) walks a search tree (search_tree.h) through an environment, which alone says what a
// candidate is worth. At the node that selection (selection.h) draws, a planner (planner.h) chooses among the
// legal actions (actions.h), guided by a transition memory (transition_graph.h) and a learned policy
// (policy.h, reward.h) or a small language model as one (language_policy.h). A model's roles (model_roles.h)
// see exactly their context sets (context_sets.h) and change anchored spans only (anchors.h). Recorded trees
// (offline_tree.h, recorded_environment.h) stand in for a device in training and in the ablations
// (ablation.h).
#pragma once

#include "refactor/agents/ablation.h"
#include "refactor/agents/anchors.h"
#include "refactor/agents/context_sets.h"
#include "refactor/agents/language_policy.h"
#include "refactor/agents/model_roles.h"
