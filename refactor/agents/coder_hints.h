// What a coder is shown besides the code: a worked example of the action's kind (MTMC, arXiv 2511.20100), and
// the local strategies of the action's direction with what they gave (HTAM, arXiv 2605.29734). The examples
// and their wording are ours.
#pragma once

#include "refactor/agents/transition_graph.h"

namespace lathe::refactor::agents {

// One change of that kind, before and after.
std::string_view example_of(ActionKind kind);

// The direction with its strategies and no other's: what each does, and, where a memory knows it, what it
// gained so far. Without a memory those that there are rules for.
std::string strategies_of(Direction direction, const TransitionGraph* memory);

} // namespace lathe::refactor::agents
