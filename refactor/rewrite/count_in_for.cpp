// count-in-for: `int i = first; while (i < n) { ...; i += step; }` becomes a for loop, which the other rules
// read.
#include "refactor/knobs/variables.h"
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// A loop whose counter is declared in front of it.
struct CountedLoop {
  const DeclStmt* declaration = nullptr;
  const VarDecl* counter = nullptr;
  const Stmt* loop = nullptr;
  const Expr* condition = nullptr;
  const Expr* step = nullptr;        // of a while loop, the last statement of its body; else null
  const Stmt* step_holder = nullptr; // that statement
};

class Finder {
public:
  explicit Finder(const KernelView& view) : view_(view) {}

  std::vector<CountedLoop> run() {
    const std::set<const FunctionDecl*> with_labels = functions_with_labels(view_);
    std::vector<CountedLoop> found;
    view_.visit([&](const Stmt* statement) {
      const auto* block = dyn_cast<CompoundStmt>(statement);
      if (!block || with_labels.contains(view_.enclosing_function(block)))
        return;
      for (auto at = block->body_begin(); at != block->body_end(); ++at)
        if (auto loop = read(*at); loop && is_counted(*loop, block, at))
          found.push_back(*loop);
    });
    return found;
  }

private:
  std::optional<CountedLoop> read(const Stmt* statement) const {
    CountedLoop found;
    found.loop = statement;
    if (const auto* loop = dyn_cast<WhileStmt>(statement)) {
      const auto* body = dyn_cast<CompoundStmt>(loop->getBody());
      if (loop->hasVarStorage() || !body || body->size() < 2)
        return std::nullopt;
      found.condition = loop->getCond();
      found.step_holder = body->body_back();
      found.step = dyn_cast<Expr>(found.step_holder);
      found.counter = found.step ? stepped(found.step) : nullptr;
    } else if (const auto* with_step = dyn_cast<ForStmt>(statement)) {
      if (with_step->getInit() || with_step->getConditionVariable() || !with_step->getCond() ||
          !with_step->getInc())
        return std::nullopt;
      found.condition = with_step->getCond();
      found.counter = stepped(with_step->getInc());
    }
    return found.counter ? std::optional(found) : std::nullopt;
  }

  // The variable that `i += n`, `++i` or `i = i + n` steps.
  static const VarDecl* stepped(const Expr* step) {
    if (const auto* unary = dyn_cast<UnaryOperator>(step))
      return unary->isIncrementDecrementOp() ? named_variable(unary->getSubExpr()->IgnoreParens()) : nullptr;
    const auto parts = binary_parts(step);
    return parts && BinaryOperator::isAssignmentOp(parts->operation)
               ? named_variable(parts->left->IgnoreParens())
               : nullptr;
  }

  bool is_counted(CountedLoop& loop, const CompoundStmt* block, CompoundStmt::const_body_iterator at) const {
    const VarDecl* counter = loop.counter;
    if (!counter->isLocalVarDecl() || !counter->hasInit() || !counter->getType()->isIntegerType())
      return false;
    for (auto before = block->body_begin(); before != at; ++before)
      if (const auto* declaration = dyn_cast<DeclStmt>(*before);
          declaration && declaration->isSingleDecl() && declaration->getSingleDecl() == counter)
        loop.declaration = declaration;
    if (!loop.declaration)
      return false;
    // All that is done with it is done in the loop, and the step alone changes it.
    for (const DeclRefExpr* use : view_.uses(counter))
      if (!view_.within(loop.loop, use) || (changes(use) && !is_in_step(loop, use)))
        return false;
    if (*(at - 1) != loop.declaration && !is_the_same_anywhere(counter->getInit()))
      return false;
    return !loop.step || (!goes_on_early(loop) && is_known_outside(loop));
  }

  bool is_in_step(const CountedLoop& loop, const Expr* use) const {
    const auto* with_step = dyn_cast<ForStmt>(loop.loop);
    return view_.within(with_step ? with_step->getInc() : loop.step, use);
  }

  // It is, or may be, written here.
  bool changes(const DeclRefExpr* use) const {
    const Stmt* above = view_.parent(use);
    while (isa_and_nonnull<ParenExpr>(above))
      above = view_.parent(above);
    if (const auto* unary = dyn_cast_or_null<UnaryOperator>(above))
      return unary->isIncrementDecrementOp() || unary->getOpcode() == UO_AddrOf;
    if (const auto parts = binary_parts(above))
      return BinaryOperator::isAssignmentOp(parts->operation) && parts->left->IgnoreParens() == use;
    // A value is read through a conversion; whoever else names it may keep or change it.
    return !isa_and_nonnull<ImplicitCastExpr>(above);
  }

  // Neither memory nor a variable that may have changed goes into it.
  bool is_the_same_anywhere(const Expr* value) const {
    bool same = true;
    view_.visit(value, [&](const Stmt* part) {
      const VarDecl* variable = named_variable(part);
      const auto* unary = dyn_cast<UnaryOperator>(part);
      same &= !(variable && view_.is_modified(variable)) && !isa<ArraySubscriptExpr>(part) &&
              !(unary && (unary->getOpcode() == UO_Deref || unary->isIncrementDecrementOp())) &&
              (!isa<CallExpr>(part) || binary_parts(part)) && !isa<MemberExpr>(part);
    });
    return same;
  }

  // `continue` leaves out the last statement of a while loop's body, and not a for loop's step.
  bool goes_on_early(const CountedLoop& loop) const {
    bool found = false;
    view_.visit(loop.loop, [&](const Stmt* statement) {
      if (!isa<ContinueStmt>(statement))
        return;
      const Stmt* above = view_.parent(statement);
      while (above != loop.loop && !isa<WhileStmt>(above) && !isa<ForStmt>(above) && !isa<DoStmt>(above))
        above = view_.parent(above);
      found |= above == loop.loop;
    });
    return found;
  }

  // The step does not name what the body declares.
  bool is_known_outside(const CountedLoop& loop) const {
    bool known = true;
    view_.visit(loop.step, [&](const Stmt* part) {
      if (const VarDecl* variable = named_variable(part))
        known &= !declares(view_, loop.loop, variable);
    });
    return known;
  }

  const KernelView& view_;
};

class CountInFor : public Rule {
public:
  std::string_view name() const override { return "count-in-for"; }
  std::string_view summary() const override {
    return "turns while loops that count into for loops, which other rules can take";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    const KernelView view = view_of(source, kernel, candidate);
    Proposal proposal;
    for (const CountedLoop& loop : Finder(view).run())
      if (edit(view, loop, proposal.edits))
        proposal.detail +=
            (proposal.detail.empty() ? "" : ", ") + ("the loop at " + view.at_line(loop.loop->getBeginLoc()));
    if (proposal.edits.empty())
      return Refusal{"no loop counts with a variable of its own from in front of it"};
    proposal.detail += " counts as a for loop";
    return proposal;
  }

private:
  static bool edit(const KernelView& view, const CountedLoop& loop, std::vector<Edit>& edits) {
    const auto declaration = whole_statement(view, loop.declaration);
    const auto condition = view.range(loop.condition->getSourceRange());
    const std::string& text = view.file_text();
    if (!declaration || !condition || text[declaration->end - 1] != ';')
      return false;
    const std::string start = view.text({declaration->begin, declaration->end - 1});
    std::vector<Edit> made{replace(with_line(text, *declaration), "")};
    if (const auto* counted = dyn_cast<ForStmt>(loop.loop)) {
      const auto open = view.range(counted->getLParenLoc());
      if (!open)
        return false;
      made.push_back(insert(open->end, start));
    } else {
      const auto head = view.range({loop.loop->getBeginLoc(), cast<WhileStmt>(loop.loop)->getRParenLoc()});
      const auto step = view.range(loop.step->getSourceRange());
      const auto last = whole_statement(view, loop.step_holder);
      if (!head || !step || !last)
        return false;
      made.push_back(
          replace(*head, "for (" + start + "; " + view.text(*condition) + "; " + view.text(*step) + ")"));
      made.push_back(replace(with_line(text, *last), ""));
    }
    std::ranges::move(made, std::back_inserter(edits));
    return true;
  }
};

} // namespace

std::unique_ptr<Rule> make_count_in_for() {
  return std::make_unique<CountInFor>();
}

} // namespace lathe::refactor
