// name-moved-pointers: `x += row * n;` of a parameter becomes `const float* x_moved = x + (row * n);`, a
// pointer that never changes, which the other rules follow to its buffer.
#include "refactor/knobs/variables.h"
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

struct MovedPointer {
  const ParmVarDecl* parameter = nullptr;
  const Stmt* statement = nullptr; // that moves it
  const Expr* distance = nullptr;
  std::vector<const DeclRefExpr*> uses; // behind it
};

// The parameter that a statement moves, and by what.
std::optional<MovedPointer> read_move(const Stmt* statement) {
  const auto parts = binary_parts(statement);
  if (!parts || parts->operation != BO_AddAssign)
    return std::nullopt;
  const auto* reference = dyn_cast<DeclRefExpr>(parts->left->IgnoreParenImpCasts());
  const auto* parameter = reference ? dyn_cast<ParmVarDecl>(reference->getDecl()) : nullptr;
  if (!parameter || !parameter->getType()->isPointerType())
    return std::nullopt;
  return MovedPointer{parameter, statement, parts->right, {}};
}

class Finder {
public:
  explicit Finder(const KernelView& view) : view_(view) {}

  std::vector<MovedPointer> run() const {
    std::vector<MovedPointer> found;
    const auto* body = dyn_cast_or_null<CompoundStmt>(view_.kernel()->getBody());
    if (!body || functions_with_labels(view_).contains(view_.kernel()) || has_lambda())
      return found;
    for (const Stmt* statement : body->body())
      if (auto move = read_move(statement); move && is_the_only_change(*move))
        found.push_back(std::move(*move));
    return found;
  }

private:
  bool has_lambda() const {
    bool found = false;
    view_.visit(view_.kernel()->getBody(), [&](const Stmt* part) { found |= isa<LambdaExpr>(part); });
    return found;
  }

  // Nobody looks at the parameter before, or sets it otherwise.
  bool is_the_only_change(MovedPointer& move) const {
    const auto moved_at = view_.range(move.statement->getSourceRange());
    if (!moved_at)
      return false;
    for (const DeclRefExpr* use : view_.uses(move.parameter)) {
      if (view_.within(move.distance, use))
        return false;
      if (view_.within(move.statement, use))
        continue;
      const auto at = view_.written_range(use->getSourceRange());
      if (!at || at->begin < moved_at->end || may_set(use))
        return false;
      move.uses.push_back(use);
    }
    return !move.uses.empty();
  }

  bool may_set(const DeclRefExpr* use) const {
    const Stmt* above = view_.parent(use);
    while (isa_and_nonnull<ParenExpr>(above))
      above = view_.parent(above);
    if (isa_and_nonnull<ImplicitCastExpr>(above))
      return false; // it is read
    if (const auto* unary = dyn_cast_or_null<UnaryOperator>(above))
      return unary->isIncrementDecrementOp() || unary->getOpcode() == UO_AddrOf;
    if (const auto parts = binary_parts(above))
      return BinaryOperator::isAssignmentOp(parts->operation) && view_.within(parts->left, use);
    if (const auto* declaration = dyn_cast_or_null<DeclStmt>(above))
      return std::ranges::any_of(declaration->decls(), [](const Decl* declared) {
        const auto* variable = dyn_cast<VarDecl>(declared);
        return variable && variable->getType()->isReferenceType();
      });
    // Where a type depends on the template's arguments nothing tells reading from being handed over.
    return !isa_and_nonnull<ArraySubscriptExpr>(above);
  }

  const KernelView& view_;
};

class NameMovedPointers : public Rule {
public:
  std::string_view name() const override { return "name-moved-pointers"; }
  std::string_view summary() const override {
    return "gives parameters that are moved once a name of their own from there, which other rules can "
           "follow";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    const KernelView view = view_of(source, kernel, candidate);
    Proposal proposal;
    std::vector<std::string> taken;
    for (const MovedPointer& move : Finder(view).run())
      if (edit(view, move, taken, proposal.edits))
        proposal.detail += (proposal.detail.empty() ? "" : ", ") + move.parameter->getNameAsString() +
                           " at " + view.at_line(move.statement->getBeginLoc());
    if (proposal.edits.empty())
      return Refusal{"no pointer among the parameters is moved once, before it is used"};
    proposal.detail += " has a name of its own where it was moved";
    return proposal;
  }

private:
  static bool edit(const KernelView& view, const MovedPointer& move, std::vector<std::string>& taken,
                   std::vector<Edit>& edits) {
    const auto statement = whole_statement(view, move.statement);
    const auto distance = view.range(move.distance->getSourceRange());
    if (!statement || !distance || view.file_text()[statement->end - 1] != ';')
      return false;
    const std::string before = move.parameter->getNameAsString();
    const std::string after = free_name(view.file_text(), before + "_moved", taken);
    const QualType type = move.parameter->getType().getUnqualifiedType();
    taken.push_back(after);
    edits.push_back(replace(*statement, view.type_text(type) + " " + after + " = " + before + " + (" +
                                            view.text(*distance) + ");"));
    std::set<std::size_t> renamed; // a macro's argument may be there more than once
    for (const DeclRefExpr* use : move.uses)
      if (const auto at = view.written_range(use->getSourceRange()); renamed.insert(at->begin).second)
        edits.push_back(replace(*at, after));
    return true;
  }
};

} // namespace

std::unique_ptr<Rule> make_name_moved_pointers() {
  return std::make_unique<NameMovedPointers>();
}

} // namespace lathe::refactor
