// What index arithmetic means: polynomials of what a kernel's text does not decide, and the buffers that
// addresses are computed from.
#include "refactor/knobs/kernel_view.h"
#include "refactor/knobs/meant_functions.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

namespace lathe::refactor {

using namespace clang;

namespace {

const Expr* strip(const Expr* expression) {
  while (expression) {
    expression = expression->IgnoreParenImpCasts();
    if (const auto* cast = dyn_cast<ExplicitCastExpr>(expression)) {
      expression = cast->getSubExpr();
    } else if (const auto* construct = dyn_cast<CXXUnresolvedConstructExpr>(expression);
               construct && construct->getNumArgs() == 1) {
      expression = construct->getArg(0);
    } else if (const auto* list = dyn_cast<InitListExpr>(expression); list && list->getNumInits() == 1) {
      expression = list->getInit(0);
    } else if (const auto* constant = dyn_cast<ConstantExpr>(expression)) {
      expression = constant->getSubExpr();
    } else if (const auto* replaced = dyn_cast<SubstNonTypeTemplateParmExpr>(expression)) {
      expression = replaced->getReplacement();
    } else {
      break;
    }
  }
  return expression;
}

} // namespace

std::optional<BinaryParts> binary_parts(const Stmt* statement) {
  if (const auto* binary = dyn_cast_or_null<BinaryOperator>(statement))
    return BinaryParts{binary->getLHS(), binary->getRHS(), binary->getOpcode()};
  const auto* call = dyn_cast_or_null<CXXOperatorCallExpr>(statement);
  if (call && call->isInfixBinaryOp() && call->getNumArgs() == 2)
    return BinaryParts{call->getArg(0), call->getArg(1),
                       BinaryOperator::getOverloadedOpcode(call->getOperator())};
  const auto* function = dyn_cast_or_null<CallExpr>(statement);
  if (const FunctionDecl* callee = function ? function->getDirectCallee() : nullptr;
      callee && callee->getIdentifier() && function->getNumArgs() == 2 &&
      (callee->getName() == "__mul24" || callee->getName() == "__umul24"))
    return BinaryParts{function->getArg(0), function->getArg(1), BO_Mul};
  return std::nullopt;
}

std::string KernelView::builtin_name(const Expr* expression) {
  expression = strip(expression);
  if (const auto* pseudo = dyn_cast_or_null<PseudoObjectExpr>(expression))
    expression = pseudo->getSyntacticForm()->IgnoreParenImpCasts();
  const Expr* base = nullptr;
  std::string member;
  if (const auto* property = dyn_cast_or_null<MSPropertyRefExpr>(expression)) {
    base = property->getBaseExpr()->IgnoreParenImpCasts();
    if (const auto* opaque = dyn_cast<OpaqueValueExpr>(base))
      base = opaque->getSourceExpr();
    member = property->getPropertyDecl()->getNameAsString();
  } else if (const auto* field = dyn_cast_or_null<MemberExpr>(expression)) {
    base = field->getBase();
    member = field->getMemberDecl()->getNameAsString();
  }
  if (!base)
    return {};
  base = base->IgnoreParenImpCasts();
  if (const auto* opaque = dyn_cast<OpaqueValueExpr>(base); opaque && opaque->getSourceExpr())
    base = opaque->getSourceExpr()->IgnoreParenImpCasts();
  if (const auto* reference = dyn_cast<DeclRefExpr>(base)) {
    const std::string name = reference->getDecl()->getNameAsString();
    if (name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim")
      return name + "." + member;
  }
  return {};
}

Polynomial KernelView::evaluate_by_names(const Expr* expression) const {
  knobs_by_names_ = true;
  Polynomial value = evaluate(expression);
  knobs_by_names_ = false;
  return value;
}

std::string KernelView::atom_of(const ValueDecl* variable) const {
  if (const auto* kept = dyn_cast<VarDecl>(variable))
    if (const auto found = kept_.find(kept->getCanonicalDecl()); found != kept_.end())
      return found->second;
  const std::string name = variable->getNameAsString();
  if (isa<ParmVarDecl>(variable))
    return "param:" + name;
  if (isa<NonTypeTemplateParmDecl>(variable))
    return "template:" + name;
  return "var:" + name + "@" +
         std::to_string(context_.getSourceManager().getFileOffset(
             context_.getSourceManager().getExpansionLoc(variable->getLocation())));
}

std::optional<bool> KernelView::decide(const Expr* condition) const {
  const auto* comparison = dyn_cast<BinaryOperator>(strip(condition));
  if (!comparison || !comparison->isComparisonOp())
    return std::nullopt;
  const auto left = evaluate(comparison->getLHS()).as_constant();
  const auto right = evaluate(comparison->getRHS()).as_constant();
  if (!left || !right)
    return std::nullopt;
  switch (comparison->getOpcode()) {
  case BO_EQ:
    return *left == *right;
  case BO_NE:
    return *left != *right;
  case BO_LT:
    return *left < *right;
  case BO_LE:
    return *left <= *right;
  case BO_GT:
    return *left > *right;
  case BO_GE:
    return *left >= *right;
  default:
    return std::nullopt;
  }
}

const Expr* KernelView::returned_expression(const CallExpr* call) const {
  const FunctionDecl* called = call->getDirectCallee();
  const FunctionDecl* callee = called ? definition_of(called) : nullptr;
  if (!callee || callee->getNumParams() != call->getNumArgs() || !callee->doesThisDeclarationHaveABody() ||
      !in_main_file(callee->getLocation()))
    return nullptr;
  for (const ParmVarDecl* parameter : called->parameters())
    if (!parameter->getType()->isIntegralOrEnumerationType())
      return nullptr;
  const auto* body = dyn_cast_or_null<CompoundStmt>(callee->getBody());
  const auto* only = body && body->size() == 1 ? dyn_cast<ReturnStmt>(body->body_front()) : nullptr;
  return only ? only->getRetValue() : nullptr;
}

std::optional<Polynomial> KernelView::evaluate_call(const CallExpr* call) const {
  const Expr* value = returned_expression(call);
  if (!value)
    return std::nullopt;
  const FunctionDecl* callee = definition_of(call->getDirectCallee());
  std::map<const VarDecl*, Polynomial> bound;
  for (unsigned i = 0; i < call->getNumArgs(); ++i)
    bound[callee->getParamDecl(i)] = evaluate(call->getArg(i));
  std::swap(bound_, bound);
  Polynomial result = evaluate(value);
  std::swap(bound_, bound);
  return result;
}

void KernelView::keep(const Expr* expression, std::string atom) {
  kept_expressions_[strip(expression)] = std::move(atom);
}

Polynomial KernelView::evaluate(const Expr* expression) const {
  expression = strip(expression);
  const auto opaque = [&](const std::string& what) { return Polynomial::atom(what); };
  if (!expression)
    return opaque("?");
  if (depth_ > 64)
    return opaque("?deep");
  ++depth_;
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{depth_};

  if (const auto kept = kept_expressions_.find(expression); kept != kept_expressions_.end())
    return Polynomial::atom(kept->second);
  if (const std::string name = builtin_name(expression); !name.empty())
    return Polynomial::atom(name);
  if (const auto* literal = dyn_cast<IntegerLiteral>(expression))
    return Polynomial::constant(static_cast<std::int64_t>(literal->getValue().getLimitedValue()));
  if (const auto* literal = dyn_cast<CXXBoolLiteralExpr>(expression))
    return Polynomial::constant(literal->getValue() ? 1 : 0);
  if (const auto* reference = dyn_cast<DeclRefExpr>(expression)) {
    const ValueDecl* declaration = reference->getDecl();
    if (const auto* variable = dyn_cast<VarDecl>(declaration)) {
      if (kept_.count(variable->getCanonicalDecl()))
        return Polynomial::atom(atom_of(variable));
      if (const auto bound = bound_.find(variable); bound != bound_.end())
        return bound->second;
      if (const auto given = given_.find(variable); given != given_.end())
        return given->second;
      if (variable->getName() == "warpSize")
        return Polynomial::constant(32);
      const VarDecl* with_initialiser = nullptr;
      const Expr* initialiser = variable->getAnyInitializer(with_initialiser);
      const bool integral = variable->getType()->isIntegralOrEnumerationType() ||
                            variable->getType()->isDependentType() || variable->getType()->isPointerType();
      const bool fixed = variable->isLocalVarDecl()
                             ? !is_modified(variable) && !variable->isStaticLocal()
                             : variable->getType().isConstQualified() || variable->isConstexpr();
      if (initialiser && fixed && integral && !isa<ParmVarDecl>(variable))
        return evaluate(initialiser);
      return Polynomial::atom(atom_of(variable));
    }
    if (const auto* parameter = dyn_cast<NonTypeTemplateParmDecl>(declaration)) {
      if (const auto found = defaults_.find(parameter->getNameAsString());
          found != defaults_.end() && !knobs_by_names_)
        return Polynomial::constant(found->second);
      return Polynomial::atom(atom_of(parameter));
    }
    if (const auto* enumerator = dyn_cast<EnumConstantDecl>(declaration))
      return Polynomial::constant(enumerator->getInitVal().getExtValue());
    return Polynomial::atom(atom_of(declaration));
  }
  if (const auto* unary = dyn_cast<UnaryOperator>(expression)) {
    if (unary->getOpcode() == UO_Minus)
      return Polynomial() - evaluate(unary->getSubExpr());
    if (unary->getOpcode() == UO_Plus)
      return evaluate(unary->getSubExpr());
    return opaque("(" + std::string(UnaryOperator::getOpcodeStr(unary->getOpcode())) +
                  evaluate(unary->getSubExpr()).text() + ")");
  }
  if (const auto binary = binary_parts(expression)) {
    const Polynomial left = evaluate(binary->left), right = evaluate(binary->right);
    const auto constant = right.as_constant();
    const std::string symbol = BinaryOperator::getOpcodeStr(binary->operation).str();
    const std::int64_t second = constant.value_or(0);
    switch (binary->operation) {
    case BO_Add:
      return left + right;
    case BO_Sub:
      return left - right;
    case BO_Mul:
      return left * right;
    case BO_Shl:
      if (constant && second >= 0 && second < 32)
        return left * Polynomial::constant(std::int64_t{1} << second);
      break;
    case BO_Div:
      if (left.as_constant() && constant && second != 0)
        return Polynomial::constant(*left.as_constant() / second);
      break;
    case BO_Rem:
      if (left.as_constant() && constant && second != 0)
        return Polynomial::constant(*left.as_constant() % second);
      break;
    // x >> k and x & (2^k - 1) are x / 2^k and x % 2^k for the indices met here.
    case BO_Shr:
      if (constant && second > 0 && second < 32)
        return opaque("(" + left.text() + "/" + std::to_string(std::int64_t{1} << second) + ")");
      break;
    case BO_And:
      if (constant && second > 0 && ((second + 1) & second) == 0)
        return opaque("(" + left.text() + "%" + std::to_string(second + 1) + ")");
      break;
    default:
      break;
    }
    return opaque("(" + left.text() + symbol + (constant ? std::to_string(second) : right.text()) + ")");
  }
  if (const auto* choice = dyn_cast<ConditionalOperator>(expression)) {
    if (const auto decided = decide(choice->getCond()))
      return evaluate(*decided ? choice->getTrueExpr() : choice->getFalseExpr());
    return opaque("(" + evaluate(choice->getCond()).text() + "?" + evaluate(choice->getTrueExpr()).text() +
                  ":" + evaluate(choice->getFalseExpr()).text() + ")");
  }
  if (const auto* call = dyn_cast<CallExpr>(expression))
    if (auto value = evaluate_call(call))
      return *value;
  // Calls, members, sizeof, ...: the text, and the atoms inside them so that mentions() sees them.
  std::string name = text(expression);
  if (name.empty())
    name = std::string(expression->getStmtClassName()) + "@" +
           std::to_string(context_.getSourceManager().getFileOffset(
               context_.getSourceManager().getExpansionLoc(expression->getBeginLoc())));
  std::string inside;
  if (const auto* call = dyn_cast<CallExpr>(expression)) {
    for (const Expr* argument : call->arguments())
      inside += (inside.empty() ? "" : ",") + evaluate(argument).text();
    const std::string callee = text(call->getCallee());
    return opaque(callee + "(" + inside + ")");
  }
  return opaque(name);
}

const ParmVarDecl* KernelView::base_pointer(const Expr* address) const {
  address = strip(address);
  for (int steps = 0; address && steps < 64; ++steps) {
    address = strip(address);
    if (const auto binary = binary_parts(address)) {
      if (binary->operation != BO_Add && binary->operation != BO_Sub)
        return nullptr;
      const bool on_left = binary->left->getType()->isPointerType() || base_pointer(binary->left) != nullptr;
      address = on_left ? binary->left : binary->right;
    } else if (const auto* unary = dyn_cast<UnaryOperator>(address)) {
      if (unary->getOpcode() != UO_AddrOf && unary->getOpcode() != UO_Deref)
        return nullptr;
      if (unary->getOpcode() == UO_Deref)
        return nullptr; // a pointer loaded from memory
      address = unary->getSubExpr();
      if (const auto* deref = dyn_cast<UnaryOperator>(strip(address));
          deref && deref->getOpcode() == UO_Deref)
        address = deref->getSubExpr();
      else if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(strip(address)))
        address = subscript->getBase();
    } else if (const auto* reference = dyn_cast<DeclRefExpr>(address)) {
      if (const auto* parameter = dyn_cast<ParmVarDecl>(reference->getDecl()))
        return parameter->getType()->isPointerType() ? parameter : nullptr;
      const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
      if (!variable || !variable->hasInit() || !variable->isLocalVarDecl() ||
          variable->getType()->isArrayType())
        return nullptr;
      // A pointer that moves still points into the buffer that it started in, if every write adds to it.
      if (!variable->getType()->isPointerType() && !variable->getType()->isDependentType() &&
          !variable->getType()->getContainedAutoType())
        return nullptr;
      address = variable->getInit();
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

bool KernelView::is_on_chip(const Expr* address) const {
  bool on_chip = false;
  std::set<const VarDecl*> seen;
  std::function<void(const Expr*)> look = [&](const Expr* expression) {
    visit(expression, [&](const Stmt* statement) {
      const auto* reference = dyn_cast<DeclRefExpr>(statement);
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (!variable || isa<ParmVarDecl>(variable) || !seen.insert(variable).second)
        return;
      if (variable->hasAttr<CUDASharedAttr>() || variable->getType()->isArrayType())
        on_chip = true;
      else if (variable->hasInit() && variable->getType()->isPointerType())
        look(variable->getInit());
    });
  };
  look(address);
  return on_chip;
}

} // namespace lathe::refactor
