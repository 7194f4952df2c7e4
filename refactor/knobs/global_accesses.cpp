#include "refactor/knobs/global_accesses.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

namespace lathe::refactor {

using namespace clang;

namespace {

class Finder {
public:
  explicit Finder(const KernelView& view) : view_(view) {}

  std::vector<GlobalAccess> accesses(const FunctionDecl* function) const {
    std::vector<GlobalAccess> found;
    view_.visit(function->getBody(), [&](const Stmt* statement) {
      const Expr* place = nullptr;
      const Expr* address = nullptr;
      if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(statement)) {
        place = subscript;
        address = subscript->getBase();
      } else if (const auto* unary = dyn_cast<UnaryOperator>(statement);
                 unary && unary->getOpcode() == UO_Deref) {
        place = unary;
        address = unary->getSubExpr();
      }
      if (!place || view_.is_on_chip(address))
        return;
      const ParmVarDecl* pointer = view_.base_pointer(address);
      if (!pointer || pointer->getDeclContext() != function || !view_.range(place->getSourceRange()))
        return;
      GlobalAccess access{place, nullptr, pointer};
      const Stmt* above = view_.parent(place);
      while (above && isa<ParenExpr>(above))
        above = view_.parent(above);
      if (const auto* binary = dyn_cast_or_null<BinaryOperator>(above);
          binary && binary->isAssignmentOp() && binary->getLHS()->IgnoreParens() == place) {
        const Stmt* around = view_.parent(binary);
        const bool is_statement = isa_and_nonnull<CompoundStmt>(around) || isa_and_nonnull<IfStmt>(around) ||
                                  isa_and_nonnull<ForStmt>(around) ||
                                  isa_and_nonnull<ExprWithCleanups>(around);
        if (binary->getOpcode() != BO_Assign || !is_statement || !view_.range(binary->getSourceRange()) ||
            isa<InitListExpr>(binary->getRHS()) || !view_.range(binary->getRHS()->getSourceRange()))
          return;
        access.store = binary;
      } else if (!reads(above, place)) {
        return;
      }
      found.push_back(access);
    });
    return found;
  }

private:
  const KernelView& view_;

  // True where the parent takes the value, not the place.
  bool reads(const Stmt* above, const Expr* place) const {
    if (isa_and_nonnull<ImplicitCastExpr>(above))
      return cast<ImplicitCastExpr>(above)->getCastKind() == CK_LValueToRValue;
    if (isa_and_nonnull<ExplicitCastExpr>(above))
      return !cast<ExplicitCastExpr>(above)->getTypeAsWritten()->isReferenceType();
    if (isa_and_nonnull<CXXUnresolvedConstructExpr>(above) || isa_and_nonnull<CXXConstructExpr>(above))
      return true;
    if (const auto* binary = dyn_cast_or_null<BinaryOperator>(above))
      return !binary->isAssignmentOp() || binary->getRHS() == place;
    if (const auto* choice = dyn_cast_or_null<ConditionalOperator>(above)) {
      const Stmt* around = view_.parent(choice);
      while (around && isa<ParenExpr>(around))
        around = view_.parent(around);
      return reads(around, choice);
    }
    if (const auto* declaration = dyn_cast_or_null<DeclStmt>(above)) {
      for (const Decl* declared : declaration->decls())
        if (const auto* variable = dyn_cast<VarDecl>(declared);
            variable && variable->hasInit() && variable->getInit()->IgnoreParens() == place)
          return !variable->getType()->isReferenceType();
    }
    return false;
  }
};

} // namespace

std::vector<GlobalAccess> global_accesses(const KernelView& view, const FunctionDecl* function) {
  return Finder(view).accesses(function);
}

} // namespace lathe::refactor
