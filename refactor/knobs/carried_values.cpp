#include "refactor/knobs/carried_values.h"

#include "refactor/knobs/variables.h"

namespace lathe::refactor {

using namespace clang;

namespace {

class Reader {
public:
  Reader(const KernelView& view, const Stmt* loop) : view_(view), loop_(loop) {}

  std::optional<CarriedValue> read() {
    std::set<const VarDecl*> looked_at;
    std::optional<CarriedValue> found;
    view_.visit(loop_, [&](const Stmt* part) {
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (found || !variable || !looked_at.insert(variable).second || !is_carried(variable))
        return;
      if (const Stmt* store = store_of(variable))
        found = CarriedValue{variable, store};
    });
    return found;
  }

private:
  bool mentions(const Stmt* statement, const VarDecl* variable) const {
    return comes_from(view_, statement, nullptr, [&](const Stmt* part) {
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      return reference && reference->getDecl() == variable;
    });
  }

  // Goes into itself, and is nowhere in the loop begun anew.
  bool is_carried(const VarDecl* variable) const {
    const QualType type = variable->getType().getNonReferenceType();
    const bool is_data = type->isRealFloatingType() || type->isIntegerType() || type->isDependentType() ||
                         type->isRecordType();
    if (!is_data || !variable->hasLocalStorage() || variable->hasAttr<CUDASharedAttr>() ||
        !view_.is_modified(variable) || declares(view_, loop_, variable))
      return false;
    bool goes_on = false, begins_anew = false;
    view_.visit(loop_, [&](const Stmt* part) {
      const auto parts = binary_parts(part);
      if (!parts || !BinaryOperator::isAssignmentOp(parts->operation))
        return;
      const auto* target = dyn_cast<DeclRefExpr>(parts->left->IgnoreParenImpCasts());
      if (!target || target->getDecl() != variable)
        return;
      const bool is_plain = parts->operation == BO_Assign;
      if (is_plain && !mentions(parts->right, variable))
        begins_anew = true;
      else if (!type->isIntegerType() || reads_memory(parts->right))
        goes_on = true;
    });
    return goes_on && !begins_anew;
  }

  bool reads_memory(const Stmt* statement) const {
    return comes_from(view_, statement, nullptr, [](const Stmt* part) {
      const auto* unary = dyn_cast<UnaryOperator>(part);
      return isa<ArraySubscriptExpr>(part) || (unary && unary->getOpcode() == UO_Deref);
    });
  }

  const Stmt* store_of(const VarDecl* variable) const {
    const Stmt* store = nullptr;
    view_.visit(loop_, [&](const Stmt* part) {
      const auto parts = binary_parts(part);
      if (store || !parts || !BinaryOperator::isAssignmentOp(parts->operation))
        return;
      const Expr* target = parts->left->IgnoreParenImpCasts();
      const auto* unary = dyn_cast<UnaryOperator>(target);
      const bool is_place = isa<ArraySubscriptExpr>(target) || (unary && unary->getOpcode() == UO_Deref);
      if (is_place && !view_.is_on_chip(target) && mentions(parts->right, variable))
        store = part;
    });
    return store;
  }

  const KernelView& view_;
  const Stmt* loop_;
};

} // namespace

std::optional<CarriedValue> carried_into_memory(const KernelView& view, const Stmt* loop) {
  return Reader(view, loop).read();
}

} // namespace lathe::refactor
