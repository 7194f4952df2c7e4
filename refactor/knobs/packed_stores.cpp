#include "refactor/knobs/packed_stores.h"

#include "refactor/knobs/statement_effects.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// What the expression comes to is known to the compiler, wherever it stands.
bool is_compile_time(const KernelView& view, const Expr* expression) {
  bool known = true;
  view.visit(expression, [&](const Stmt* part) {
    if (isa<CallExpr>(part)) {
      known = false;
    } else if (const auto* reference = dyn_cast<DeclRefExpr>(part)) {
      const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
      known &= isa<NonTypeTemplateParmDecl>(reference->getDecl()) ||
               isa<EnumConstantDecl>(reference->getDecl()) || (variable && variable->isConstexpr());
    }
  });
  return known;
}

class Reader {
public:
  Reader(KernelView& view, const StridedLoop& loop) : view_(view), loop_(loop) {}

  std::optional<PackedStore> read() {
    const auto* body = dyn_cast<CompoundStmt>(loop_.loop->getBody());
    if (!loop_.counts_rounds() || !is_compile_time(view_, loop_.bound) ||
        !view_.range(loop_.bound->getSourceRange()))
      return std::nullopt;
    std::vector<const Stmt*> statements;
    if (body)
      statements.assign(body->body_begin(), body->body_end());
    else
      statements.push_back(loop_.loop->getBody());
    const Stmt* store = nullptr;
    for (const Stmt* statement : statements) {
      const StatementEffects effects = effects_of(view_, statement);
      if (effects.leaves || effects.orders_memory || (effects.changes_memory && store))
        return std::nullopt;
      if (effects.changes_memory)
        store = statement;
    }
    return store ? packed(store) : std::nullopt;
  }

private:
  KernelView& view_;
  const StridedLoop& loop_;

  std::optional<PackedStore> packed(const Stmt* store) {
    if (const auto* full = dyn_cast<ExprWithCleanups>(store))
      store = full->getSubExpr();
    const auto parts = binary_parts(store);
    const auto* place = parts && parts->operation == BO_Assign
                            ? dyn_cast<ArraySubscriptExpr>(parts->left->IgnoreParenImpCasts())
                            : nullptr;
    if (!place || effects_of(view_, parts->right).changes_memory || !view_.range(place->getSourceRange()))
      return std::nullopt;
    const ParmVarDecl* buffer = view_.base_pointer(place->getBase());
    const QualType pointer = place->getBase()->getType();
    if (!buffer || view_.is_on_chip(place->getBase()) || !pointer->isPointerType() ||
        pointer->getPointeeType().isVolatileQualified() || !is_steady(place) ||
        !reads_nothing_stored(buffer, place))
      return std::nullopt;
    view_.keep(loop_.counter, loop_atom);
    const Polynomial index = view_.evaluate(place->getIdx());
    view_.release(loop_.counter);
    const auto each = index.quotient_by(loop_atom);
    if (!each || each->as_constant() != 1 || index.without(loop_atom).mentions(loop_atom))
      return std::nullopt;
    return PackedStore{loop_, place, pointer->getPointeeType().getUnqualifiedType()};
  }

  // The address depends on nothing that the body changes but the counter.
  bool is_steady(const ArraySubscriptExpr* place) const {
    if (!is_plain_value(view_, place->getBase()) || !is_plain_value(view_, place->getIdx()))
      return false;
    return std::ranges::all_of(variables_in(view_, place), [&](const VarDecl* variable) {
      return variable == loop_.counter || (!declares(view_, loop_.loop->getBody(), variable) &&
                                           !may_change(view_, loop_.loop->getBody(), variable));
    });
  }

  bool reads_nothing_stored(const ParmVarDecl* buffer, const ArraySubscriptExpr* place) const {
    const bool is_alone = buffer->getType().isRestrictQualified();
    bool reads = false;
    view_.visit(loop_.loop->getBody(), [&](const Stmt* part) {
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      if (!reference || !reference->getType()->isPointerType() || view_.within(place, part))
        return;
      const ParmVarDecl* read = view_.base_pointer(reference);
      reads |= !is_alone || read == nullptr || read == buffer;
    });
    return !reads;
  }
};

} // namespace

std::variant<std::string, std::vector<PackedStore>> find_packed_stores(KernelView& view) {
  std::vector<PackedStore> found;
  for (const StridedLoop& loop : strided_loops(view))
    if (auto store = Reader(view, loop).read())
      found.push_back(std::move(*store));
  if (found.empty())
    return "no loop of a number of rounds that is known to the compiler stores consecutive elements and does "
           "nothing else to memory";
  return found;
}

} // namespace lathe::refactor
