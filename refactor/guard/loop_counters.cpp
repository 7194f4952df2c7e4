#include "refactor/guard/loop_counters.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

namespace lathe::refactor {
namespace {

using namespace clang;

constexpr std::uint64_t MOST = 127; // of the smallest type with a sign

// The value of a constant expression, a knob's too.
bool is_small_number(const Expr* expression, const ASTContext& context) {
  Expr::EvalResult value;
  return expression && !expression->isValueDependent() && expression->EvaluateAsInt(value, context) &&
         value.Val.getInt().getLimitedValue() <= MOST;
}

} // namespace

const VarDecl* counter_of_few_steps(const ForStmt* loop, const ASTContext& context) {
  const auto* first = dyn_cast_or_null<DeclStmt>(loop->getInit());
  const auto* variable = first && first->isSingleDecl() ? dyn_cast<VarDecl>(first->getSingleDecl()) : nullptr;
  const auto* condition = dyn_cast_or_null<BinaryOperator>(loop->getCond());
  if (!variable || !variable->getType()->isIntegerType() || !condition ||
      (condition->getOpcode() != BO_LT && condition->getOpcode() != BO_LE))
    return nullptr;
  const auto* counted = dyn_cast<DeclRefExpr>(condition->getLHS()->IgnoreParenImpCasts());
  return counted && counted->getDecl() == variable && is_small_number(variable->getInit(), context) &&
                 is_small_number(condition->getRHS(), context)
             ? variable
             : nullptr;
}

} // namespace lathe::refactor
