// Loops that keep rounds in registers: the first may also ask for what only a later one loads. Internal to
// this folder.
#pragma once

#include "refactor/knobs/kept_elements.h"
#include "refactor/rewrite/rule_support.h"

namespace lathe::refactor {

// A knob that makes the first of the kept loops load what later ones need.
struct EarlyRounds {
  std::vector<std::string> declarations; // of the registers, in front of the first loop
  std::vector<Edit> edits;               // behind those of the loops' headers
  Knob knob;
  Condition condition;
};

// Nothing where no later loop loads anything that the first could ask for. `keep`: the knob that says how
// many rounds are kept. `round`: what counts rounds in loops whose counter does not.
std::optional<EarlyRounds> early_rounds(const KernelView& view, const Candidate& candidate,
                                        const KeptElements& kept, const std::string& keep,
                                        const std::string& round);

} // namespace lathe::refactor
