// Numbers that a program writes, and variables that keep the one that they start with.
#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

namespace lathe::refactor {

// The value of an integer that is no truth value, where it is a constant.
inline std::optional<std::int64_t> constant_number(const clang::Expr* expression,
                                                   const clang::ASTContext& context) {
  clang::Expr::EvalResult result;
  if (!expression || expression->isValueDependent() || !expression->getType()->isIntegerType() ||
      expression->getType()->isBooleanType() || !expression->EvaluateAsInt(result, context))
    return std::nullopt;
  return result.Val.getInt().tryExtValue();
}

// What a variable starts with, where that is a constant; null where it hangs on a template's parameters or is
// in error.
inline const clang::APValue* constant_value(const clang::VarDecl& variable) {
  const clang::VarDecl* defined = nullptr; // the declaration that has the initialiser
  const clang::Expr* initialiser = variable.getAnyInitializer(defined);
  return initialiser && !initialiser->isValueDependent() && !variable.getType()->isDependentType()
             ? defined->evaluateValue()
             : nullptr;
}

// A visitor that keeps which variables are used otherwise than for their value.
template <class Derived> class VariableUses : public clang::RecursiveASTVisitor<Derived> {
public:
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) {
    if (cast->getCastKind() == clang::CK_LValueToRValue)
      if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(cast->getSubExpr()->IgnoreParens()))
        reads_.insert(reference);
    return true;
  }
  // After the cast around it, which tells what it is.
  bool VisitDeclRefExpr(clang::DeclRefExpr* reference) {
    if (!reads_.contains(reference))
      used_otherwise_.insert(reference->getDecl());
    return true;
  }

  // Whether what was visited may change the variable.
  bool is_changed(const clang::VarDecl* variable) const {
    return !variable->getType().isConstQualified() && !variable->isConstexpr() &&
           used_otherwise_.contains(variable);
  }

private:
  friend Derived;
  VariableUses() = default;

  std::set<const clang::DeclRefExpr*> reads_;
  std::set<const clang::ValueDecl*> used_otherwise_;
};

} // namespace lathe::refactor
