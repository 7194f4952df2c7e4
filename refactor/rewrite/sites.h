// The places of one proposal: which of its edits, conditions and knobs belong together, and what is left of
// it where only some places are wanted. Internal to this folder.
#pragma once

#include "refactor/rewrite/rewrite.h"

namespace lathe::refactor {

// Knobs are of one site when an edit, a condition, a default or the changed launch mentions both. A proposal
// with an edit that mentions no knob and is no helper's definition cannot be told apart and is one site.
std::vector<RuleSite> sites_of(const Candidate& candidate, const Proposal& proposal);

// The proposal at the sites of the named knobs only. Fails where a name is no knob of the proposal.
Result<Proposal> restricted_to(const Candidate& candidate, const Proposal& proposal,
                               const std::vector<std::string>& knobs);

} // namespace lathe::refactor
