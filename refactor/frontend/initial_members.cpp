#include "refactor/frontend/initial_members.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

const NamedDecl* member_of(const CXXRecordDecl& record, const std::string& name) {
  for (const Decl* declared : record.decls())
    if (isa<FieldDecl, VarDecl>(declared) && cast<NamedDecl>(declared)->getName() == name)
      return cast<NamedDecl>(declared);
  for (const CXXBaseSpecifier& base : record.bases())
    if (const CXXRecordDecl* of = base.getType()->getAsCXXRecordDecl(); of && of->hasDefinition())
      if (const NamedDecl* found = member_of(*of->getDefinition(), name))
        return found;
  return nullptr;
}

class Mentions : public RecursiveASTVisitor<Mentions> {
public:
  explicit Mentions(const FieldDecl* field) : field_(field) {}
  bool VisitMemberExpr(MemberExpr* access) { return !(found |= access->getMemberDecl() == field_); }
  bool found = false;

private:
  const FieldDecl* field_;
};

// Whether a constructor leaves a field as the class initialises it: none that somebody wrote does anything
// with the field, nor can hand the object on.
bool leaves_as_initialised(const CXXConstructorDecl& made, const FieldDecl* field) {
  if (!made.isUserProvided())
    return true;
  const FunctionDecl* defined = nullptr;
  if (!made.hasBody(defined))
    return false;
  const auto* constructor = cast<CXXConstructorDecl>(defined);
  Mentions body(field);
  body.TraverseStmt(constructor->getBody());
  const auto is_written = [&](const CXXCtorInitializer* each) {
    return each->isDelegatingInitializer() || (each->getMember() == field && each->isWritten());
  };
  const auto* block = dyn_cast<CompoundStmt>(constructor->getBody());
  return !body.found && std::ranges::none_of(constructor->inits(), is_written) &&
         (field->getType().isConstQualified() || (block && block->body_empty()));
}

// Options p; Options p{}; Options p = Options();
bool is_made_from_nothing(const VarDecl& variable, const FieldDecl* field) {
  if (isa<ParmVarDecl>(variable) || variable.isInitCapture())
    return false;
  const Expr* made = variable.getInit();
  if (!made)
    return true;
  made = made->IgnoreImplicit();
  if (const auto* list = dyn_cast<InitListExpr>(made))
    return std::ranges::all_of(list->inits(), [](const Expr* each) { return isa<CXXDefaultInitExpr>(each); });
  if (isa<CXXScalarValueInitExpr, ImplicitValueInitExpr>(made))
    return true;
  const auto* constructed = dyn_cast<CXXConstructExpr>(made);
  return constructed && constructed->getNumArgs() == 0 &&
         leaves_as_initialised(*constructed->getConstructor(), field);
}

} // namespace

std::optional<InitialMember> initial_member(const Expr* object, const std::string& name,
                                            const ASTContext& context) {
  const auto* reference = dyn_cast<DeclRefExpr>(object->IgnoreParenImpCasts());
  const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  const CXXRecordDecl* record = variable ? variable->getType()->getAsCXXRecordDecl() : nullptr;
  if (!record || !record->hasDefinition() || record->isDependentContext())
    return std::nullopt;
  record = record->getDefinition();
  const NamedDecl* member = member_of(*record, name);
  const Expr* initialiser = nullptr;
  InitialMember found;
  if (const auto* of_class = dyn_cast_or_null<VarDecl>(member)) {
    initialiser = of_class->getAnyInitializer();
    found.is_static = true;
    if (!of_class->getType().isConstQualified())
      return std::nullopt;
  } else if (const auto* field = dyn_cast_or_null<FieldDecl>(member);
             field && field->hasInClassInitializer() && is_made_from_nothing(*variable, field)) {
    initialiser = field->getInClassInitializer();
  }
  if (!initialiser || initialiser->isValueDependent() || initialiser->getType()->isBooleanType())
    return std::nullopt;
  found.is_fixed = cast<ValueDecl>(member)->getType().isConstQualified();
  Expr::EvalResult result;
  llvm::APFloat real(0.0);
  if (initialiser->getType()->isIntegerType() && initialiser->EvaluateAsInt(result, context))
    found.whole = result.Val.getInt().tryExtValue();
  else if (initialiser->getType()->isRealFloatingType() && initialiser->EvaluateAsFloat(real, context))
    found.real = real.convertToDouble();
  if (!found.whole && !found.real)
    return std::nullopt;
  return found;
}

} // namespace lathe::refactor
