// expose-unroll: the unroll factor of run-time loops becomes a knob.
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/Attr.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>

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
    view.visit(view.kernel()->getBody(), [&](const Stmt* statement) {
      const bool is_loop = isa<ForStmt>(statement) || isa<WhileStmt>(statement);
      if (!is_loop || proposal.knobs.size() == most_loops || inside_chosen(view, statement))
        return;
      const std::string where = view.at_line(statement->getBeginLoc());
      const Hint hint = hint_of(view, statement);
      if (hint.unreadable) {
        reasons += (reasons.empty() ? "" : "; ") + ("the loop at " + where + " comes from a macro");
        return;
      }
      if (hint.owned || (hint.present && !hint.factor) ||
          (!hint.present && !runs_at_run_time(view, statement)))
        return;
      const std::string name = free_name(candidate.text, "UNROLL", taken);
      taken.push_back(name);
      chosen_.push_back(statement);
      const std::int64_t raw = hint.present ? *hint.factor : 0;
      const std::string pragma = "#pragma unroll " + name;
      const std::string& text = view.file_text();
      if (hint.present) {
        proposal.edits.push_back(replace(hint.line, pragma));
      } else {
        const auto bytes = view.range(SourceRange(statement->getBeginLoc(), statement->getBeginLoc()));
        const std::size_t start = line_start(text, bytes->begin);
        const bool alone = text.find_first_not_of(" \t", start) == bytes->begin;
        proposal.edits.push_back(alone ? insert(start, pragma + "\n")
                                       : insert(bytes->begin, "\n" + pragma + "\n"));
      }
      std::vector<std::int64_t> values{1, 2, 4, 8};
      if (std::find(values.begin(), values.end(), raw) == values.end())
        values.insert(values.begin(), raw);
      std::sort(values.begin(), values.end());
      proposal.knobs.push_back(
          make_knob(name, KnobKind::unroll, "int", values, std::to_string(raw),
                    "the loop at " + where +
                        (hint.present ? "" : "; 0 leaves it to the compiler as the raw kernel does")));
    });
    chosen_.clear();
    if (proposal.knobs.empty())
      return Refusal{reasons.empty() ? "no loop has a trip count that is known only at run time" : reasons};
    return proposal;
  }

private:
  mutable std::vector<const Stmt*> chosen_;

  bool inside_chosen(const KernelView& view, const Stmt* statement) const {
    return std::any_of(chosen_.begin(), chosen_.end(),
                       [&](const Stmt* outer) { return view.within(outer, statement); });
  }

  struct Hint {
    bool present = false, unreadable = false;
    bool owned = false;                 // by a knob already
    std::optional<std::int64_t> factor; // nothing: "unroll fully"
    TextRange line;
  };

  static Hint hint_of(const KernelView& view, const Stmt* loop) {
    Hint hint;
    if (loop->getBeginLoc().isMacroID() ||
        !view.range(SourceRange(loop->getBeginLoc(), loop->getBeginLoc()))) {
      hint.unreadable = true;
      return hint;
    }
    const auto* attributed = dyn_cast_or_null<AttributedStmt>(view.parent(loop));
    if (!attributed)
      return hint;
    for (const Attr* attribute : attributed->getAttrs()) {
      const auto* loop_hint = dyn_cast<LoopHintAttr>(attribute);
      if (!loop_hint)
        continue;
      hint.present = true;
      if (loop_hint->getOption() == LoopHintAttr::UnrollCount && loop_hint->getValue()) {
        bool names = false;
        view.visit(loop_hint->getValue(), [&](const Stmt* inside) { names |= isa<DeclRefExpr>(inside); });
        hint.factor = view.evaluate(loop_hint->getValue()).as_constant();
        hint.owned = names;
      } else if (loop_hint->getState() == LoopHintAttr::Disable) {
        hint.factor = 1;
      }
      // The pragma's own line, without its indentation.
      const std::string& text = view.file_text();
      const SourceManager& manager = view.context().getSourceManager();
      const std::size_t at = manager.getFileOffset(manager.getExpansionLoc(loop_hint->getLocation()));
      std::size_t begin = text.find("#", line_start(text, at));
      std::size_t end = text.find('\n', at);
      const std::size_t comment = text.find("//", begin);
      if (comment < end)
        end = comment;
      hint.unreadable |=
          begin == std::string::npos || begin > at || !view.in_main_file(loop_hint->getLocation());
      hint.line = {begin, end};
    }
    return hint;
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
