// The functions that a kernel may reach, what they write, and what they are given.
#include "refactor/knobs/kernel_view.h"
#include "refactor/knobs/meant_functions.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <regex>

namespace lathe::refactor {

using namespace clang;

namespace {

// Functions of the main file by name, for callees that depend on template parameters.
class NamedFunctions : public RecursiveASTVisitor<NamedFunctions> {
public:
  explicit NamedFunctions(const KernelView& view) : view_(view) {}
  bool VisitFunctionDecl(FunctionDecl* function) {
    if (function->doesThisDeclarationHaveABody() && view_.in_main_file(function->getLocation()))
      by_name[function->getDeclName()].push_back(function);
    return true;
  }
  std::map<DeclarationName, std::vector<const FunctionDecl*>> by_name;

private:
  const KernelView& view_;
};

// Of a pointer or a reference to a function, or nothing.
const FunctionProtoType* function_type(QualType type) {
  const QualType target = type->isReferenceType() ? type.getNonReferenceType() : type->getPointeeType();
  return target.isNull() ? nullptr : target->getAs<FunctionProtoType>();
}

// Made of the numbers of threads and blocks, and of literals, alone.
bool is_of_launch(const Polynomial& value) {
  static const std::regex numbers(R"((threadIdx|blockIdx|blockDim|gridDim)\.[xyz]|[\d()+\-*/%])");
  const auto atoms = value.atoms();
  return !atoms.empty() && std::ranges::all_of(atoms, [&](const std::string& atom) {
    return std::regex_replace(atom, numbers, "").empty();
  });
}

// Whether every function that the call may be of takes the argument by value. What is known by its name alone
// may take it by reference, and so may a parameter whose type an instance says.
bool takes_value(const CallExpr* call, unsigned index) {
  const auto by_value = [&](const FunctionDecl* function) {
    if (index >= function->getNumParams())
      return false;
    const QualType type = function->getParamDecl(index)->getType();
    return !type->isReferenceType() && (!type->isDependentType() || type->isPointerType());
  };
  if (const FunctionDecl* callee = call->getDirectCallee())
    return index < callee->getNumParams() && !callee->getParamDecl(index)->getType()->isReferenceType();
  std::vector<const FunctionDecl*> meant = functions_meant(call->getCallee()->IgnoreParenImpCasts());
  std::erase_if(meant, [&](const FunctionDecl* one) { return !takes(one, call->getNumArgs()); });
  return !meant.empty() && std::ranges::all_of(meant, by_value);
}

} // namespace

std::vector<const FunctionDecl*>
KernelView::functions_passed_as(const NonTypeTemplateParmDecl* parameter) const {
  const auto found = passed_functions_.find(parameter);
  return found == passed_functions_.end() ? std::vector<const FunctionDecl*>{} : found->second;
}

void KernelView::collect_functions() {
  if (!kernel_ || !kernel_->getBody())
    return;
  NamedFunctions named(*this);
  named.TraverseAST(context_);
  std::vector<const FunctionDecl*> pending{kernel_};
  std::set<const FunctionDecl*> seen{kernel_};
  const auto reach = [&](const FunctionDecl* callee) {
    callee = definition_of(callee);
    if (!callee->doesThisDeclarationHaveABody() || !in_main_file(callee->getLocation())) {
      external_calls_.insert(callee->getNameAsString());
      return;
    }
    if (seen.insert(callee).second)
      pending.push_back(callee);
  };
  const auto reach_name = [&](DeclarationName name) {
    named_alone_.insert(name);
    const auto found = named.by_name.find(name);
    if (found == named.by_name.end()) {
      external_calls_.insert(name.getAsString());
      return;
    }
    for (const FunctionDecl* function : found->second)
      reach(function);
  };
  const auto reach_passed = [&](const NonTypeTemplateParmDecl* parameter) {
    const FunctionProtoType* type = function_type(parameter->getType());
    if (!type || passed_functions_.contains(parameter))
      return;
    std::vector<const FunctionDecl*>& passed = passed_functions_[parameter];
    for (const auto& [name, functions] : named.by_name)
      for (const FunctionDecl* function : functions)
        if (function->getNumParams() == type->getNumParams() && !function->hasAttr<CUDAGlobalAttr>() &&
            !isa<CXXMethodDecl>(function)) {
          passed.push_back(definition_of(function));
          reach(function);
        }
    if (passed.empty())
      external_calls_.insert(parameter->getNameAsString());
  };
  while (!pending.empty()) {
    const FunctionDecl* function = pending.front();
    pending.erase(pending.begin());
    functions_.push_back(function);
    index_body(function);
    visit(function->getBody(), [&](const Stmt* statement) {
      if (const auto* reference = dyn_cast<DeclRefExpr>(statement)) {
        if (const auto* callee = dyn_cast<FunctionDecl>(reference->getDecl()))
          reach(callee);
        else if (const auto* passed = dyn_cast<NonTypeTemplateParmDecl>(reference->getDecl()))
          reach_passed(passed);
      } else if (const auto* member = dyn_cast<MemberExpr>(statement)) {
        if (const auto* callee = dyn_cast<FunctionDecl>(member->getMemberDecl()))
          reach(callee);
      } else if (const auto* construct = dyn_cast<CXXConstructExpr>(statement)) {
        if (!construct->getConstructor()->isImplicit() &&
            in_main_file(construct->getConstructor()->getLocation()))
          reach(construct->getConstructor());
      } else if (const auto* lookup = dyn_cast<OverloadExpr>(statement)) {
        const std::vector<const FunctionDecl*> meant = functions_meant(lookup);
        if (meant.empty())
          reach_name(lookup->getName());
        const CallExpr* call = call_of(lookup);
        const bool is_any_taken = call && std::ranges::any_of(meant, [&](const auto* one) {
                                    return takes(one, call->getNumArgs());
                                  });
        for (const FunctionDecl* callee : meant)
          if (!is_any_taken || takes(callee, call->getNumArgs()))
            reach(callee);
      } else if (const auto* dependent = dyn_cast<CXXDependentScopeMemberExpr>(statement)) {
        reach_name(dependent->getMember());
      } else if (const auto* scoped = dyn_cast<DependentScopeDeclRefExpr>(statement)) {
        reach_name(scoped->getDeclName());
      } else if (const auto* call = dyn_cast<CXXOperatorCallExpr>(statement)) {
        if (call->isTypeDependent())
          reach_name(context_.DeclarationNames.getCXXOperatorName(call->getOperator()));
      } else if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(statement)) {
        if (subscript->getBase()->isTypeDependent())
          reach_name(context_.DeclarationNames.getCXXOperatorName(OO_Subscript));
      }
    });
  }
}

void KernelView::collect_given() {
  std::map<const FunctionDecl*, std::vector<const CallExpr*>> calls;
  std::set<const FunctionDecl*> handed_on; // named otherwise than by a call
  for (const auto& [parameter, functions] : passed_functions_)
    handed_on.insert(functions.begin(), functions.end());
  visit([&](const Stmt* statement) {
    const CallExpr* call = call_of(statement);
    for (const FunctionDecl* function : functions_meant(statement)) {
      if (!call || isa<CXXMethodDecl>(function) || named_alone_.contains(function->getDeclName()))
        handed_on.insert(function);
      else if (takes(function, call->getNumArgs()))
        calls[function].push_back(call);
    }
  });
  for (const FunctionDecl* function : handed_on)
    calls.erase(function);
  const auto given_by_all = [&](const std::vector<const CallExpr*>& all,
                                unsigned index) -> std::optional<Polynomial> {
    std::optional<Polynomial> value;
    for (const CallExpr* call : all) {
      if (index >= call->getNumArgs() || isa<PackExpansionExpr>(call->getArg(index)))
        return std::nullopt;
      const Polynomial argument = evaluate(call->getArg(index));
      if (!is_of_launch(argument) || (value && value->text() != argument.text()))
        return std::nullopt;
      value = argument;
    }
    return value;
  };
  // What a function hands on is known once what it is given is.
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [function, all] : calls)
      for (unsigned i = 0; i < function->getNumParams(); ++i) {
        const ParmVarDecl* parameter = function->getParamDecl(i);
        if (given_.contains(parameter) || !parameter->getType()->isIntegralOrEnumerationType() ||
            is_modified(parameter))
          continue;
        if (auto value = given_by_all(all, i)) {
          given_.emplace(parameter, std::move(*value));
          grew = true;
        }
      }
  }
}

bool KernelView::is_given(const CallExpr* call, const Expr* argument) const {
  unsigned given = 0, meant = 0;
  for (const FunctionDecl* function : functions_meant(call->getCallee()->IgnoreParenImpCasts())) {
    if (!takes(function, call->getNumArgs()))
      continue;
    ++meant;
    for (unsigned i = 0; i < std::min(call->getNumArgs(), function->getNumParams()); ++i)
      given += within(call->getArg(i), argument) && given_.contains(function->getParamDecl(i));
  }
  return meant > 0 && given == meant;
}

void KernelView::collect_modified() {
  const auto mark = [&](const Expr* target) {
    if (const auto* reference = dyn_cast<DeclRefExpr>(target->IgnoreParenCasts()))
      if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl()))
        modified_.insert(variable->getCanonicalDecl());
  };
  visit([&](const Stmt* statement) {
    if (const auto* binary = dyn_cast<BinaryOperator>(statement)) {
      if (binary->isAssignmentOp())
        mark(binary->getLHS());
    } else if (const auto* unary = dyn_cast<UnaryOperator>(statement)) {
      if (unary->isIncrementDecrementOp() || unary->getOpcode() == UO_AddrOf)
        mark(unary->getSubExpr());
    } else if (const auto* call = dyn_cast<CallExpr>(statement)) {
      // Passed by reference: the call may write it.
      const auto operation = binary_parts(call);
      const bool computes = operation && !BinaryOperator::isAssignmentOp(operation->operation);
      for (unsigned i = 0; i < call->getNumArgs(); ++i) {
        const Expr* argument = call->getArg(i);
        if (!isa<DeclRefExpr>(argument->IgnoreParens()))
          continue; // an rvalue conversion stands above a value argument
        const auto* reference = cast<DeclRefExpr>(argument->IgnoreParens());
        if (computes && reference->getType()->isPointerType())
          continue; // no operator that is not an assignment may change a pointer
        const bool is_const = reference->getType().isConstQualified();
        if (!is_const && !takes_value(call, i))
          mark(argument);
      }
    } else if (const auto* declaration = dyn_cast<DeclStmt>(statement)) {
      for (const Decl* declared : declaration->decls())
        if (const auto* variable = dyn_cast<VarDecl>(declared);
            variable && variable->hasInit() && variable->getType()->isReferenceType() &&
            !variable->getType()->getPointeeType().isConstQualified())
          mark(variable->getInit());
    }
  });
}

} // namespace lathe::refactor
