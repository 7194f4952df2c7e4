// Checks that a program makes before it launches: what holds behind them.
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <set>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

// What holds behind a statement, or the opposite of what holds.
struct Checked {
  const Expr* condition = nullptr;
  bool holds = true;
};

// Which parameter it is, in a condition over nothing else.
const ParmVarDecl* parameter_in(const Expr* condition) {
  const auto* reference = dyn_cast<DeclRefExpr>(plain(condition));
  return reference ? dyn_cast<ParmVarDecl>(reference->getDecl()) : nullptr;
}

// The parameter without which a function does not return: void check(bool ok, ...) { if (!ok) throw ...; }.
const ParmVarDecl* checked_parameter(const FunctionDecl& function) {
  const FunctionDecl* definition = nullptr;
  const auto* body =
      function.hasBody(definition) ? dyn_cast_or_null<CompoundStmt>(definition->getBody()) : nullptr;
  if (!body)
    return nullptr;
  for (const auto* at = body->body_begin(); at != body->body_end(); ++at) {
    const auto* choice = dyn_cast<IfStmt>(*at);
    if (!choice || choice->getElse())
      continue;
    const Expr* condition = plain(choice->getCond());
    const auto* negated = dyn_cast<UnaryOperator>(condition);
    if (negated && negated->getOpcode() == UO_LNot && is_end(choice->getThen()))
      return parameter_in(negated->getSubExpr());
    if (isa_and_nonnull<ReturnStmt>(last_of(choice->getThen())) && at + 1 != body->body_end() &&
        is_end(*(at + 1)))
      return parameter_in(condition);
  }
  return nullptr;
}

// The argument that a function or a constructor checks.
const Expr* checked_argument(const FunctionDecl* function, llvm::ArrayRef<const Expr*> arguments) {
  const ParmVarDecl* parameter = function ? checked_parameter(*function) : nullptr;
  const unsigned at = parameter ? parameter->getFunctionScopeIndex() : 0;
  return parameter && at < arguments.size() ? arguments[at] : nullptr;
}

// The same of an object that is only made to check: RuntimeCheck(n > 0, "...").
const Expr* checked_by_constructor(QualType type, llvm::ArrayRef<const Expr*> arguments) {
  const CXXRecordDecl* record = type.isNull() ? nullptr : type->getAsCXXRecordDecl();
  if (const auto* deduced = type.isNull() ? nullptr : type->getAs<DeducedTemplateSpecializationType>())
    if (const auto* described =
            dyn_cast_or_null<ClassTemplateDecl>(deduced->getTemplateName().getAsTemplateDecl()))
      record = described->getTemplatedDecl();
  if (!record || !record->hasDefinition())
    return nullptr;
  for (const Decl* member : record->getDefinition()->decls()) {
    const auto* function = isa<FunctionTemplateDecl>(member)
                               ? cast<FunctionTemplateDecl>(member)->getTemplatedDecl()
                               : dyn_cast<FunctionDecl>(member);
    if (isa_and_nonnull<CXXConstructorDecl>(function))
      if (const Expr* argument = checked_argument(function, arguments))
        return argument;
  }
  return nullptr;
}

// The checks of the frameworks whose headers Lathe's own stand in for.
bool is_framework_check(const std::string& function) {
  static const std::set<std::string> names{"lathe_check", "lathe_unused", "lathe_checked"};
  return names.contains(function);
}

Checked checked_by(const Expr* statement, const auto& callee_name) {
  for (const Expr* expression = plain(statement);;) {
    if (const auto* told = dyn_cast<CXXOperatorCallExpr>(expression);
        told && told->getOperator() == OO_LessLess && told->getNumArgs() == 2) {
      expression = plain(told->getArg(0)); // a message
      continue;
    }
    if (const auto* both = dyn_cast<BinaryOperator>(expression);
        both && (both->getOpcode() == BO_Shl || both->getOpcode() == BO_Comma)) {
      expression = plain(both->getLHS());
      continue;
    }
    if (const auto* choice = dyn_cast<ConditionalOperator>(expression)) { // assert(...)
      const bool ends[] = {ends_here(plain(choice->getFalseExpr())), ends_here(plain(choice->getTrueExpr()))};
      return ends[0] != ends[1] ? Checked{choice->getCond(), ends[0]} : Checked{};
    }
    if (const auto* cast = dyn_cast<CXXFunctionalCastExpr>(expression)) {
      expression = plain(cast->getSubExpr());
      continue;
    }
    if (const auto* made = dyn_cast<CXXConstructExpr>(expression))
      return {checked_argument(made->getConstructor(), {made->getArgs(), made->getNumArgs()})};
    if (const auto* made = dyn_cast<CXXUnresolvedConstructExpr>(expression))
      return {checked_by_constructor(
          made->getTypeAsWritten(),
          std::vector<const Expr*>(made->arg_begin(), made->arg_begin() + made->getNumArgs()))};
    const auto* call = dyn_cast<CallExpr>(expression);
    if (!call || call->getNumArgs() == 0)
      return {};
    if (is_framework_check(callee_name(call)))
      return {call->getArg(0)};
    const FunctionDecl* function = call->getDirectCallee();
    if (const auto* written = dyn_cast<UnresolvedLookupExpr>(call->getCallee()->IgnoreParenImpCasts());
        written && written->getNumDecls() == 1)
      function = (*written->decls_begin())->getUnderlyingDecl()->getAsFunction();
    return {checked_argument(function, {call->getArgs(), call->getNumArgs()})};
  }
}

class Variables : public RecursiveASTVisitor<Variables> {
public:
  std::set<const VarDecl*> found;
  bool VisitDeclRefExpr(DeclRefExpr* reference) {
    if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
      found.insert(variable);
    return true;
  }
};

std::set<const VarDecl*> variables_in(const Expr* expression) {
  Variables variables;
  variables.TraverseStmt(const_cast<Expr*>(expression));
  return variables.found;
}

} // namespace

bool HostReader::note_check(const Expr* statement) {
  const Checked checked = checked_by(statement, callee_name);
  if (!checked.condition)
    return false;
  const auto queries = queries_;
  const auto names = names_;
  const HostValue condition = evaluate(checked.condition);
  if (queries_.size() == queries.size()) {
    if (condition.is_number() && !is_constant(condition))
      frame_.path.push_back(checked.holds ? condition : negate(condition));
    return true;
  }
  // What is asked of an object here gets its name where a variable keeps it.
  queries_ = queries;
  names_ = names;
  if (!condition.is_number() || !checked.holds)
    return true;
  HostValue later = HostValue::unknown("");
  later.later = checked.condition;
  for (const VarDecl* variable : variables_in(checked.condition))
    if (const auto known = frame_.variables.find(variable); known != frame_.variables.end())
      later.members.emplace(variable->getNameAsString(), known->second);
  frame_.path.push_back(std::move(later));
  return true;
}

HostValue HostReader::read_later(const HostValue& condition) {
  for (const VarDecl* variable : variables_in(condition.later)) {
    const auto before = condition.members.find(variable->getNameAsString());
    const auto now = frame_.variables.find(variable);
    const bool was_known = before != condition.members.end();
    if (was_known != (now != frame_.variables.end()) || (was_known && !(before->second == now->second)))
      return HostValue::unknown("");
  }
  const auto queries = queries_;
  const auto names = names_;
  HostValue value = evaluate(condition.later);
  const bool is_named = queries_.size() == queries.size();
  queries_ = queries;
  names_ = names;
  return is_named && value.is_number() && !is_constant(value) ? value : HostValue::unknown("");
}

} // namespace lathe::refactor
