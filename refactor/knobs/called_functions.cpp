#include "refactor/knobs/called_functions.h"

#include "refactor/knobs/variables.h"

#include <clang/AST/ExprCXX.h>

#include <regex>

namespace lathe::refactor {

using namespace clang;

namespace {

const Expr* called(const CallExpr* call) {
  return call->getCallee()->IgnoreParenImpCasts();
}

std::vector<const FunctionDecl*> functions_called(const KernelView& view, const CallExpr* call) {
  if (const auto* reference = dyn_cast<DeclRefExpr>(called(call)))
    if (const auto* parameter = dyn_cast<NonTypeTemplateParmDecl>(reference->getDecl()))
      return view.functions_passed_as(parameter);
  const std::string name = callee_name(view, call);
  std::vector<const FunctionDecl*> functions;
  for (const FunctionDecl* function : view.functions())
    if (function != view.kernel() && function->getNameAsString() == name)
      functions.push_back(function);
  return functions;
}

void visit_called(const KernelView& view, const CallExpr* call,
                  const std::function<void(const Stmt*)>& visitor, std::set<const FunctionDecl*>& seen) {
  for (const FunctionDecl* function : functions_called(view, call))
    if (seen.insert(function).second)
      view.visit(function->getBody(), [&](const Stmt* statement) {
        visitor(statement);
        if (const auto* further = dyn_cast<CallExpr>(statement))
          visit_called(view, further, visitor, seen);
      });
}

} // namespace

std::string callee_name(const KernelView& view, const CallExpr* call) {
  if (const FunctionDecl* callee = call->getDirectCallee())
    return callee->getNameAsString();
  // Of a template's calls, which a macro may spell.
  if (const auto* lookup = dyn_cast<OverloadExpr>(called(call)))
    return lookup->getName().getAsString();
  if (const auto* scoped = dyn_cast<DependentScopeDeclRefExpr>(called(call)))
    return scoped->getDeclName().getAsString();
  if (const auto* member = dyn_cast<CXXDependentScopeMemberExpr>(called(call)))
    return member->getMember().getAsString();
  const std::string text = view.text(call->getCallee());
  const std::string name = text.substr(0, text.find('<'));
  return name.substr(name.find_last_of(":.> ") + 1);
}

bool threads_meet_in(std::string_view function_name) {
  static const std::regex meeting("sync|shfl|atomic|ballot|__any|__all|__match|__reduce|activemask");
  return std::regex_search(function_name.begin(), function_name.end(), meeting);
}

void visit_called(const KernelView& view, const CallExpr* call,
                  const std::function<void(const Stmt*)>& visitor) {
  std::set<const FunctionDecl*> seen;
  visit_called(view, call, visitor, seen);
}

const CallExpr* call_at_named_memory(const KernelView& view, const Stmt* statement) {
  const CallExpr* found = nullptr;
  view.visit(statement, [&](const Stmt* part) {
    if (const auto* call = dyn_cast<CallExpr>(part))
      visit_called(view, call, [&](const Stmt* inside) {
        const VarDecl* variable = named_variable(inside);
        if (variable && variable->hasGlobalStorage() &&
            !view.context().getBaseElementType(variable->getType()).isConstQualified())
          found = call;
      });
  });
  return found;
}

} // namespace lathe::refactor
