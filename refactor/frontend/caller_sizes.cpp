#include "refactor/frontend/caller_sizes.h"

#include "refactor/frontend/constant_variables.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace lathe::refactor {

using namespace clang;

// The calls of each function in the user's own text.
class CallerSizes::Calls : public VariableUses<Calls> {
public:
  explicit Calls(ParsedSourceImpl& source) : source_(source) {
    this->TraverseAST(source.ast().getASTContext());
  }

  std::map<const FunctionDecl*, std::vector<const CallExpr*>> of; // by canonical declaration, the template's

  bool TraverseDecl(Decl* declaration) {
    return (declaration && source_.is_elsewhere(*declaration)) ||
           RecursiveASTVisitor::TraverseDecl(declaration);
  }
  bool VisitCallExpr(CallExpr* call) {
    const FunctionDecl* callee = call->getDirectCallee();
    if (const FunctionDecl* pattern = callee ? callee->getTemplateInstantiationPattern() : nullptr)
      callee = pattern;
    if (callee)
      of[callee->getCanonicalDecl()].push_back(call);
    return true;
  }

  std::optional<std::int64_t> passed(const Expr* argument) const {
    const ASTContext& context = source_.ast().getASTContext();
    if (const auto value = constant_number(argument, context))
      return value;
    const auto* reference = dyn_cast<DeclRefExpr>(argument->IgnoreParenImpCasts());
    const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    return variable && variable->hasInit() && !isa<ParmVarDecl>(variable) && !is_changed(variable)
               ? constant_number(variable->getInit(), context)
               : std::nullopt;
  }

private:
  ParsedSourceImpl& source_;
};

CallerSizes::CallerSizes(ParsedSourceImpl& source) : source_(source) {}

CallerSizes::~CallerSizes() = default;

std::map<const ParmVarDecl*, std::int64_t> CallerSizes::of(const FunctionDecl* launcher) {
  std::map<const ParmVarDecl*, std::int64_t> sizes;
  const auto is_size = [](const ParmVarDecl* parameter) {
    return parameter->getType()->isIntegerType() && !parameter->getType()->isBooleanType();
  };
  if (std::ranges::none_of(launcher->parameters(), is_size))
    return sizes;
  if (!calls_)
    calls_ = std::make_unique<Calls>(source_);
  const auto calls = calls_->of.find(launcher->getCanonicalDecl());
  if (calls == calls_->of.end())
    return sizes;
  for (unsigned i = 0; i < launcher->getNumParams(); ++i) {
    std::optional<std::int64_t> largest;
    const bool all =
        is_size(launcher->getParamDecl(i)) && std::ranges::all_of(calls->second, [&](const CallExpr* call) {
          const auto value =
              i < call->getNumArgs() ? calls_->passed(call->getArg(i)) : std::optional<std::int64_t>();
          largest = std::max(largest, value);
          return value.has_value();
        });
    if (all && *largest > 0)
      sizes.emplace(launcher->getParamDecl(i), *largest);
  }
  return sizes;
}

} // namespace lathe::refactor
