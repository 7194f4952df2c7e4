#include "refactor/frontend/pointer_casts.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <map>
#include <set>

namespace lathe::refactor {
namespace {

using namespace clang;

// Functions that pass a pointer on to each other.
constexpr int MOST_CALLS = 4;

class Casts : public RecursiveASTVisitor<Casts> {
public:
  Casts(const ParmVarDecl& parameter, ASTContext& context, int calls)
      : parameter_(parameter), context_(context), calls_(calls) {}

  bool VisitExplicitCastExpr(ExplicitCastExpr* cast) {
    if (const QualType type = cast->getTypeAsWritten();
        type->isPointerType() && is_parameter(cast->getSubExpr()))
      elements_.insert(type->getPointeeType().getUnqualifiedType().getAsString(context_.getPrintingPolicy()));
    return true;
  }
  bool VisitCallExpr(CallExpr* call) {
    for (unsigned i = 0; i < call->getNumArgs(); ++i)
      if (is_parameter(call->getArg(i)))
        pass_on(*call, i);
    return true;
  }
  const std::set<std::string>& elements() const { return elements_; }

private:
  bool is_parameter(const Expr* expression) const {
    const auto* reference = dyn_cast<DeclRefExpr>(expression->IgnoreParenImpCasts());
    return reference && reference->getDecl() == &parameter_;
  }

  void pass_on(const CallExpr& call, unsigned index) {
    const FunctionDecl* callee = call.getDirectCallee();
    std::map<std::string, std::string> names; // the callee's template parameters, as they are written here
    const auto name = [&](const FunctionTemplateDecl& described, ArrayRef<TemplateArgumentLoc> arguments) {
      for (unsigned i = 0; i < arguments.size() && i < described.getTemplateParameters()->size(); ++i) {
        std::string text;
        llvm::raw_string_ostream stream(text);
        arguments[i].getArgument().print(context_.getPrintingPolicy(), stream, true);
        names[described.getTemplateParameters()->getParam(i)->getNameAsString()] = text;
      }
    };
    const Expr* named = call.getCallee()->IgnoreParenImpCasts();
    if (const auto* lookup = dyn_cast<UnresolvedLookupExpr>(named)) {
      const NamedDecl* only = lookup->getNumDecls() == 1 ? *lookup->decls_begin() : nullptr;
      const auto* described = dyn_cast_or_null<FunctionTemplateDecl>(only);
      callee = described ? described->getTemplatedDecl() : dyn_cast_or_null<FunctionDecl>(only);
      if (described && lookup->hasExplicitTemplateArgs())
        name(*described, lookup->template_arguments());
    } else if (const auto* reference = dyn_cast<DeclRefExpr>(named); callee && callee->getPrimaryTemplate()) {
      const FunctionTemplateDecl* described = callee->getPrimaryTemplate();
      callee = described->getTemplatedDecl();
      if (reference && reference->hasExplicitTemplateArgs())
        name(*described, reference->template_arguments());
    }
    if (!callee || !callee->isDefined(callee) || index >= callee->getNumParams() || calls_ == 0)
      return;
    Casts further(*callee->getParamDecl(index), context_, calls_ - 1);
    further.TraverseStmt(callee->getBody());
    for (const std::string& element : further.elements()) {
      const auto found = names.find(element);
      elements_.insert(found == names.end() ? element : found->second);
    }
  }

  const ParmVarDecl& parameter_;
  ASTContext& context_;
  int calls_;
  std::set<std::string> elements_;
};

} // namespace

std::string element_by_casts(const FunctionDecl& function, unsigned parameter, ASTContext& context) {
  const FunctionDecl* definition = nullptr;
  if (!function.isDefined(definition) || parameter >= definition->getNumParams())
    return "";
  Casts casts(*definition->getParamDecl(parameter), context, MOST_CALLS);
  casts.TraverseStmt(definition->getBody());
  return casts.elements().size() == 1 ? *casts.elements().begin() : "";
}

} // namespace lathe::refactor
