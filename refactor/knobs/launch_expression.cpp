#include "refactor/knobs/launch_expression.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>

namespace lathe::refactor {

using namespace clang;

namespace {

class Writer {
public:
  Writer(const KernelView& view, const LaunchFacts& facts) : view_(view), facts_(facts) {}

  std::optional<std::string> write(const Expr* expression) {
    if (++steps_ > 1000)
      return std::nullopt;
    expression = expression->IgnoreParenImpCasts();
    if (const std::string name = KernelView::builtin_name(expression); !name.empty())
      return builtin(name);
    if (const auto* reference = dyn_cast<DeclRefExpr>(expression))
      if (const auto found = facts_.names.find(reference->getDecl()); found != facts_.names.end())
        return found->second;
    if (const auto constant = view_.evaluate(expression).as_constant())
      return std::to_string(*constant);
    if (const auto* cast = dyn_cast<ExplicitCastExpr>(expression))
      return cast->getType()->isIntegralOrEnumerationType() ? write(cast->getSubExpr()) : std::nullopt;
    if (const auto* wrapped = dyn_cast<ConstantExpr>(expression))
      return write(wrapped->getSubExpr());
    if (const auto* reference = dyn_cast<DeclRefExpr>(expression))
      return named(reference->getDecl());
    if (const auto* size = dyn_cast<UnaryExprOrTypeTraitExpr>(expression)) {
      if (size->getKind() != UETT_SizeOf || !size->isArgumentType())
        return std::nullopt;
      return facts_.size_of(size->getArgumentType().getAsString(view_.context().getPrintingPolicy()));
    }
    if (const auto binary = binary_parts(expression)) {
      const auto left = write(binary->left), right = write(binary->right);
      const bool known = BinaryOperator::isMultiplicativeOp(binary->operation) ||
                         BinaryOperator::isAdditiveOp(binary->operation) ||
                         BinaryOperator::isShiftOp(binary->operation) ||
                         BinaryOperator::isComparisonOp(binary->operation);
      if (!left || !right || !known || binary->operation == BO_Cmp)
        return std::nullopt;
      return "(" + *left + " " + BinaryOperator::getOpcodeStr(binary->operation).str() + " " + *right + ")";
    }
    if (const auto* choice = dyn_cast<ConditionalOperator>(expression)) {
      if (const auto decided = view_.decide(choice->getCond()))
        return write(*decided ? choice->getTrueExpr() : choice->getFalseExpr());
      const auto condition = write(choice->getCond()), yes = write(choice->getTrueExpr()),
                 no = write(choice->getFalseExpr());
      if (!condition || !yes || !no)
        return std::nullopt;
      return "(" + *condition + " ? " + *yes + " : " + *no + ")";
    }
    if (const auto* call = dyn_cast<CallExpr>(expression))
      return called(call);
    return std::nullopt;
  }

private:
  const KernelView& view_;
  const LaunchFacts& facts_;
  std::map<const ValueDecl*, std::string> arguments_; // of a function that is read in place of its call
  int steps_ = 0;

  std::optional<std::string> builtin(const std::string& name) const {
    if (const auto fixed = facts_.builtins.find(name); fixed != facts_.builtins.end())
      return "(" + fixed->second + ")";
    const auto axis = static_cast<std::size_t>(name.back() - 'x');
    if (name.rfind("blockDim.", 0) == 0)
      return "(" + facts_.block[axis] + ")";
    if (name.rfind("gridDim.", 0) == 0)
      return "(" + facts_.grid[axis] + ")";
    return std::nullopt;
  }

  std::optional<std::string> named(const ValueDecl* declaration) {
    if (const auto found = arguments_.find(declaration); found != arguments_.end())
      return found->second;
    if (const auto* parameter = dyn_cast<NonTypeTemplateParmDecl>(declaration))
      return facts_.template_parameter(parameter->getNameAsString());
    const auto* variable = dyn_cast<VarDecl>(declaration);
    if (!variable || view_.is_modified(variable))
      return std::nullopt;
    if (isa<ParmVarDecl>(variable)) {
      auto value = facts_.parameter(variable->getNameAsString());
      return value ? std::optional("(" + *value + ")") : std::nullopt;
    }
    const bool fixed =
        variable->isLocalVarDecl() ? !variable->isStaticLocal() : variable->getType().isConstQualified();
    if (!fixed || !variable->getInit() || !variable->getType()->isIntegralOrEnumerationType())
      return std::nullopt;
    return write(variable->getInit());
  }

  std::optional<std::string> called(const CallExpr* call) {
    std::vector<std::string> arguments;
    for (const Expr* argument : call->arguments()) {
      auto text = write(argument);
      if (!text)
        return std::nullopt;
      arguments.push_back(std::move(*text));
    }
    const Expr* value = view_.returned_expression(call);
    if (!value) {
      const FunctionDecl* callee = call->getDirectCallee();
      const std::string name = callee ? callee->getNameAsString() : "";
      if ((name != "min" && name != "max") || arguments.size() != 2)
        return std::nullopt;
      return name + "(" + arguments[0] + ", " + arguments[1] + ")";
    }
    const FunctionDecl* callee = call->getDirectCallee();
    const FunctionDecl* pattern = callee->getTemplateInstantiationPattern();
    const FunctionDecl* definition = nullptr;
    (pattern ? pattern : callee)->hasBody(definition);
    std::map<const ValueDecl*, std::string> inner;
    for (unsigned i = 0; i < arguments.size(); ++i)
      inner[definition->getParamDecl(i)] = arguments[i];
    std::swap(arguments_, inner);
    auto result = write(value);
    std::swap(arguments_, inner);
    return result;
  }
};

} // namespace

std::optional<std::string> launch_expression(const KernelView& view, const Expr* expression,
                                             const LaunchFacts& facts) {
  return Writer(view, facts).write(expression);
}

} // namespace lathe::refactor
