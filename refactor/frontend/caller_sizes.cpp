#include "refactor/frontend/caller_sizes.h"

#include "refactor/frontend/constant_variables.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace lathe::refactor {

using namespace clang;

namespace {

// The calls of one function in the user's own text.
class Calls : public VariableUses<Calls> {
public:
  Calls(ParsedSourceImpl& source, const FunctionDecl* function)
      : source_(source), function_(function->getCanonicalDecl()) {}

  std::vector<const CallExpr*> found;

  bool TraverseDecl(Decl* declaration) {
    return (declaration && source_.is_elsewhere(*declaration)) ||
           RecursiveASTVisitor::TraverseDecl(declaration);
  }
  bool VisitCallExpr(CallExpr* call) {
    const FunctionDecl* callee = call->getDirectCallee();
    if (const FunctionDecl* pattern = callee ? callee->getTemplateInstantiationPattern() : nullptr)
      callee = pattern;
    if (callee && callee->getCanonicalDecl() == function_)
      found.push_back(call);
    return true;
  }

private:
  ParsedSourceImpl& source_;
  const FunctionDecl* function_;
};

std::optional<std::int64_t> passed(const Expr* argument, const Calls& calls, const ASTContext& context) {
  if (const auto value = constant_number(argument, context))
    return value;
  const auto* reference = dyn_cast<DeclRefExpr>(argument->IgnoreParenImpCasts());
  const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  return variable && variable->hasInit() && !isa<ParmVarDecl>(variable) && !calls.is_changed(variable)
             ? constant_number(variable->getInit(), context)
             : std::nullopt;
}

} // namespace

std::map<const ParmVarDecl*, std::int64_t> sizes_of_callers(ParsedSourceImpl& source,
                                                            const FunctionDecl* launcher) {
  std::map<const ParmVarDecl*, std::int64_t> sizes;
  const auto is_size = [](const ParmVarDecl* parameter) {
    return parameter->getType()->isIntegerType() && !parameter->getType()->isBooleanType();
  };
  if (std::ranges::none_of(launcher->parameters(), is_size))
    return sizes;
  ASTContext& context = source.ast().getASTContext();
  Calls calls(source, launcher);
  calls.TraverseAST(context);
  for (unsigned i = 0; i < launcher->getNumParams() && !calls.found.empty(); ++i) {
    std::optional<std::int64_t> largest;
    const bool all =
        is_size(launcher->getParamDecl(i)) && std::ranges::all_of(calls.found, [&](const CallExpr* call) {
          const auto value = i < call->getNumArgs() ? passed(call->getArg(i), calls, context)
                                                    : std::optional<std::int64_t>();
          largest = std::max(largest, value);
          return value.has_value();
        });
    if (all && *largest > 0)
      sizes.emplace(launcher->getParamDecl(i), *largest);
  }
  return sizes;
}

} // namespace lathe::refactor
