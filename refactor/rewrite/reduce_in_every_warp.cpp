// reduce-in-every-warp: the second stage of a block's reduction may be every warp's own, which saves the
// barrier behind which its result is read.
#include "refactor/knobs/block_reduction.h"
#include "refactor/knobs/geometry.h"
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/StmtCXX.h>

#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

class ReduceInEveryWarp : public Rule {
public:
  std::string_view name() const override { return "reduce-in-every-warp"; }
  std::string_view summary() const override {
    return "lets every warp reduce what the warps have reduced, instead of the first for all";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    const KernelView view = view_of(source, kernel, candidate);
    const auto axis = [&](std::size_t i) { return constant_of(candidate.launch.block[i]).value_or(0); };
    auto outcome = find_block_reduction(view, axis(0), axis(1) == 1 && axis(2) == 1);
    if (const auto* reason = std::get_if<std::string>(&outcome))
      return Refusal{*reason};
    return rewrite(view, candidate, std::get<BlockReduction>(outcome));
  }

private:
  static Outcome rewrite(const KernelView& view, const Candidate& candidate, const BlockReduction& found) {
    const std::string name = free_name(candidate.text, "EVERY_WARP"),
                      total = free_name(candidate.text, "lathe_total");
    const std::string& text = view.file_text();
    const auto condition = view.range(found.second_stage->getCond()->getSourceRange());
    const Stmt* first =
        found.function == view.kernel() ? static_cast<const Stmt*>(found.second_stage) : found.store_branch;
    const auto declared = view.range(first->getSourceRange());
    const auto barrier = view.range(found.barrier->getSourceRange());
    const std::string value = view.text(found.store->getRHS());
    if (!condition || !declared || !barrier || value.empty())
      return Refusal{"the reduction comes from a macro"};
    Proposal proposal;
    if (auto reason = pass_knob_down(view, "int", name, {found.function}, proposal.edits))
      return Refusal{*reason};
    proposal.edits.push_back(insert(condition->begin, name + " == 1 || ("));
    proposal.edits.push_back(insert(condition->end, ")"));
    const auto before = [&](TextRange range, const std::string& statement) {
      proposal.edits.push_back(insert(range.begin, statement + "\n" + indentation(text, range.begin)));
    };
    const QualType type = found.store->getLHS()->getType();
    before(*declared, fmt::format("{0} {1} = {0}(0);", view.type_text(type), total));
    if (found.store_branch) {
      const auto branch = view.range(found.store_branch->getSourceRange());
      if (!branch)
        return Refusal{"the reduction comes from a macro"};
      before(*branch, fmt::format("if constexpr ({} == 1)\n{}  {} = {};", name,
                                  indentation(text, branch->begin), total, value));
    }
    proposal.edits.push_back(insert(barrier->begin, fmt::format("if constexpr ({} == 0)\n{}  ", name,
                                                                indentation(text, barrier->begin))));
    for (const Expr* use : found.uses)
      if (const auto range = view.range(use->getSourceRange()))
        proposal.edits.push_back(
            replace(*range, fmt::format("({} == 1 ? {} : {})", name, total, view.text(use))));
    proposal.conditions.push_back(
        make_condition(fmt::format("{} == 0 || ({}) % 32 == 0", name, block_threads(candidate.launch)),
                       "every warp that takes part has all of its lanes"));
    proposal.knobs.push_back(make_knob(
        name, KnobKind::stage, "int", {0, 1}, "0",
        fmt::format("1: every warp reduces the warps' results at {} and keeps what comes out, without the "
                    "barrier at {}; 0: the first warp does it for all, as in the raw kernel",
                    view.at_line(found.second_stage->getBeginLoc()),
                    view.at_line(found.barrier->getBeginLoc()))));
    return proposal;
  }
};

} // namespace

std::unique_ptr<Rule> make_reduce_in_every_warp() {
  return std::make_unique<ReduceInEveryWarp>();
}

} // namespace lathe::refactor
