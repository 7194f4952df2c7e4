#include "refactor/guard/thread_place.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <set>
#include <vector>

namespace lathe::refactor {
namespace {

using namespace clang;

// What is assigned to one variable of a function.
struct Assignments : RecursiveASTVisitor<Assignments> {
  explicit Assignments(const VarDecl* wanted) : variable(wanted) {}

  bool names(const Expr* expression) const {
    const auto* reference = dyn_cast<DeclRefExpr>(expression->IgnoreParens());
    return reference && reference->getDecl() == variable;
  }
  bool VisitBinaryOperator(BinaryOperator* operation) {
    if (operation->isAssignmentOp() && names(operation->getLHS()))
      values.push_back(operation->getRHS());
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator* operation) {
    escapes |= operation->getOpcode() == UO_AddrOf && names(operation->getSubExpr());
    return true;
  }
  // Handed on as itself, not as its value.
  bool VisitCallExpr(CallExpr* call) {
    for (const Expr* argument : call->arguments())
      escapes |= argument->isGLValue() && names(argument);
    return true;
  }
  bool VisitVarDecl(VarDecl* declared) {
    escapes |= declared->getType()->isReferenceType() && declared->getInit() && names(declared->getInit());
    return true;
  }
  bool VisitLambdaExpr(LambdaExpr* closure) {
    for (const LambdaCapture& capture : closure->captures())
      escapes |= capture.capturesVariable() && capture.getCapturedVar() == variable &&
                 capture.getCaptureKind() == LCK_ByRef;
    return true;
  }

  const VarDecl* variable;
  std::vector<const Expr*> values;
  bool escapes = false;
};

class Place {
public:
  explicit Place(const ASTContext& context) : context_(context) {}

  bool holds(const Expr* expression) {
    expression = expression->IgnoreParenCasts();
    Expr::EvalResult value;
    if (!expression->isValueDependent() && expression->EvaluateAsRValue(value, context_))
      return true;
    if (const auto* pseudo = dyn_cast<PseudoObjectExpr>(expression))
      return reads_thread(pseudo->getSyntacticForm()->IgnoreParenImpCasts());
    if (const auto* operation = dyn_cast<BinaryOperator>(expression))
      return !operation->isAssignmentOp() && !operation->isCommaOp() && holds(operation->getLHS()) &&
             holds(operation->getRHS());
    if (const auto* operation = dyn_cast<UnaryOperator>(expression))
      return operation->isArithmeticOp() && holds(operation->getSubExpr());
    if (const auto* reference = dyn_cast<DeclRefExpr>(expression))
      if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
        return holds(variable);
    return false;
  }

private:
  static bool reads_thread(const Expr* expression) {
    const Expr* base = nullptr;
    if (const auto* property = dyn_cast<MSPropertyRefExpr>(expression))
      base = property->getBaseExpr();
    else if (const auto* field = dyn_cast<MemberExpr>(expression))
      base = field->getBase();
    if (!base)
      return false;
    base = base->IgnoreParenImpCasts();
    if (const auto* opaque = dyn_cast<OpaqueValueExpr>(base); opaque && opaque->getSourceExpr())
      base = opaque->getSourceExpr()->IgnoreParenImpCasts();
    const auto* reference = dyn_cast<DeclRefExpr>(base);
    return reference && reference->getDecl()->getNameAsString() == "threadIdx";
  }

  bool holds(const VarDecl* variable) {
    if (!variable->isLocalVarDecl() || variable->isStaticLocal() || !variable->getType()->isIntegerType() ||
        !variable->hasInit())
      return false;
    if (!open_.insert(variable).second)
      return true; // of itself: the other values decide
    const auto* function = dyn_cast<FunctionDecl>(variable->getParentFunctionOrMethod());
    if (!function || !function->hasBody() || !holds(variable->getInit()))
      return false;
    Assignments assignments(variable);
    assignments.TraverseStmt(function->getBody());
    return !assignments.escapes &&
           std::ranges::all_of(assignments.values, [&](const Expr* value) { return holds(value); });
  }

  const ASTContext& context_;
  std::set<const VarDecl*> open_;
};

} // namespace

bool is_place_in_block(const Expr* expression, const ASTContext& context) {
  return Place(context).holds(expression);
}

} // namespace lathe::refactor
