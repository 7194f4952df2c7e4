// inline-helpers: a function that does the kernel's work and is called once is put into the kernel, where the
// other rules look for loops, indices and accesses.
#include "refactor/rewrite/inlined_helper.h"
#include "refactor/rewrite/rule_support.h"

namespace lathe::refactor {

namespace {

class InlineHelpers : public Rule {
public:
  std::string_view name() const override { return "inline-helpers"; }
  std::string_view summary() const override {
    return "puts functions that do the kernel's work and are called once into it, where other rules read "
           "them";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    const KernelView view = view_of(source, kernel, candidate);
    Proposal proposal;
    std::set<std::string> taken;
    std::string reason;
    for (const HelperCall& call : helper_calls(view)) {
      const std::string name = call.helper->getNameAsString();
      if (auto refused = inline_helper(view, call, taken, proposal.edits))
        reason += (reason.empty() ? "" : "; ") + *refused;
      else
        proposal.detail += (proposal.detail.empty() ? "" : ", ") + name;
    }
    if (proposal.edits.empty())
      return Refusal{reason.empty() ? "no function that goes through memory is called once, as a statement"
                                    : reason};
    proposal.detail += " stands in the kernel";
    proposal.again = true; // it may call further ones
    return proposal;
  }
};

} // namespace

std::unique_ptr<Rule> make_inline_helpers() {
  return std::make_unique<InlineHelpers>();
}

} // namespace lathe::refactor
