// expose-unroll: the unroll factor of run-time loops becomes a knob.
#include "refactor/knobs/unrolled_size.h"
#include "refactor/rewrite/loop_hint.h"

#include <algorithm>
#include <clang/AST/StmtCXX.h>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

class ExposeUnroll : public Rule {
public:
  std::string_view name() const override { return "expose-unroll"; }
  std::string_view summary() const override {
    return "gives loops whose trip count is known at run time an unroll factor";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    KernelView view = view_of(source, kernel, candidate);
    Proposal proposal;
    std::string reasons;
    std::vector<std::string> taken;
    // Every knob multiplies the search space: the first loops, which move the data in all kernels met.
    constexpr std::size_t most_loops = 2;
    // Compilers take minutes over more than so many operations in a row, which no cache of instructions
    // holds.
    constexpr std::size_t most_operations = 4000;
    view.visit(view.kernel()->getBody(), [&](const Stmt* statement) {
      const bool is_loop = isa<ForStmt>(statement) || isa<WhileStmt>(statement);
      if (!is_loop || proposal.knobs.size() == most_loops || inside_chosen(view, statement))
        return;
      const std::string where = view.at_line(statement->getBeginLoc());
      const LoopHint hint = loop_hint_of(view, statement);
      if (hint.unreadable) {
        reasons += (reasons.empty() ? "" : "; ") + ("the loop at " + where + " comes from a macro");
        return;
      }
      // A loop that another knob unrolls fully unless it is 0 has a factor of its own at 0.
      const Knob* owner = owner_of(candidate, hint);
      if ((!hint.owner.empty() && !owner) || (hint.present && !hint.factor) ||
          (!hint.present && !runs_at_run_time(view, statement)))
        return;
      const std::int64_t raw = hint.present ? *hint.factor : 0;
      const std::size_t size = unrolled_size(view, statement);
      std::vector<std::int64_t> values{1, 2, 4, 8};
      std::erase_if(values, [&](std::int64_t factor) {
        return factor > 1 && size * static_cast<std::size_t>(factor) > most_operations;
      });
      if (values.size() == 1) {
        reasons += (reasons.empty() ? "" : "; ") +
                   fmt::format("the loop at {} has some {} operations a round as it is", where, size);
        return;
      }
      const std::string name = free_name(candidate.text, "UNROLL", taken);
      taken.push_back(name);
      chosen_.push_back(statement);
      proposal.edits.push_back(set_loop_hint(
          view, statement, hint,
          "#pragma unroll " +
              (owner ? "(" + owner->name + " == 0 ? " + name + " : " + owner->name + ")" : name)));
      if (owner)
        proposal.conditions.push_back(
            make_condition(owner->name + " == 0 || " + name + " == " + std::to_string(raw),
                           owner->name + " unrolls the loop itself"));
      if (std::find(values.begin(), values.end(), raw) == values.end())
        values.insert(values.begin(), raw);
      std::sort(values.begin(), values.end());
      proposal.knobs.push_back(make_knob(
          name, KnobKind::unroll, "int", values, std::to_string(raw),
          "the loop at " + where + (raw != 0 ? "" : "; 0 leaves it to the compiler as the raw kernel does")));
    });
    chosen_.clear();
    if (proposal.knobs.empty())
      return Refusal{reasons.empty() ? "no loop has a trip count that is known only at run time" : reasons};
    return proposal;
  }

private:
  mutable std::vector<const Stmt*> chosen_;

  static const Knob* owner_of(const Candidate& candidate, const LoopHint& hint) {
    for (const Knob& knob : candidate.knobs)
      if (knob.name == hint.owner && knob.kind == KnobKind::tile && knob.default_value.text() == "0")
        return &knob;
    return nullptr;
  }

  bool inside_chosen(const KernelView& view, const Stmt* statement) const {
    return std::any_of(chosen_.begin(), chosen_.end(),
                       [&](const Stmt* outer) { return view.within(outer, statement); });
  }

  // True unless the bound is a constant at compile time: those loops are the compiler's to unroll.
  static bool runs_at_run_time(const KernelView& view, const Stmt* loop) {
    const auto* counted = dyn_cast<ForStmt>(loop);
    const auto* condition = counted ? dyn_cast_or_null<BinaryOperator>(counted->getCond()) : nullptr;
    if (!counted)
      return false; // while loops carry state from round to round more often than not
    if (!condition || !condition->isComparisonOp())
      return condition != nullptr;
    for (const Expr* side : {condition->getRHS(), condition->getLHS()}) {
      for (const std::string& atom : view.evaluate(side).atoms())
        if (atom.find("param:") != std::string::npos || atom.find("Dim.") != std::string::npos ||
            atom.find("Idx.") != std::string::npos)
          return true;
    }
    return false;
  }
};

} // namespace

std::unique_ptr<Rule> make_expose_unroll() {
  return std::make_unique<ExposeUnroll>();
}

} // namespace lathe::refactor
