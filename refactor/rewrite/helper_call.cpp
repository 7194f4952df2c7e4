#include "refactor/rewrite/helper_call.h"

#include "refactor/knobs/called_functions.h"
#include "refactor/knobs/meant_functions.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

class Finder {
public:
  explicit Finder(const KernelView& view) : view_(view), with_labels_(functions_with_labels(view)) {}

  std::vector<HelperCall> run() {
    std::vector<HelperCall> found;
    if (!isa_and_nonnull<CompoundStmt>(view_.kernel()->getBody()) || with_labels_.contains(view_.kernel()))
      return found;
    view_.visit([&](const Stmt* statement) {
      for (const FunctionDecl* function : functions_meant(statement))
        ++mentions_[function];
    });
    view_.visit(view_.kernel()->getBody(), [&](const Stmt* statement) {
      if (statement->getStmtClass() != Stmt::CallExprClass)
        return;
      if (auto call = read(cast<CallExpr>(statement)))
        found.push_back(*call);
    });
    return found;
  }

private:
  std::optional<HelperCall> read(const CallExpr* call) const {
    const std::vector<const FunctionDecl*> meant = functions_meant(call->getCallee()->IgnoreParenImpCasts());
    if (meant.size() != 1 || mentions_.at(meant.front()) != 1 || !is_plain(meant.front()))
      return std::nullopt;
    HelperCall found{meant.front(), call, nullptr, nullptr, nullptr, false};
    if (is_in_lambda(call) || !does_the_work(found) || !find_statement(found) || !returns_at_its_end(found))
      return std::nullopt;
    return found;
  }

  bool is_plain(const FunctionDecl* function) const {
    if (!function->doesThisDeclarationHaveABody() || !view_.in_main_file(function->getLocation()) ||
        !isa<CompoundStmt>(function->getBody()) || isa<CXXMethodDecl>(function) ||
        function->isOverloadedOperator() || function->isVariadic() || function->getPreviousDecl() ||
        function->hasAttr<CUDAGlobalAttr>() || function->hasAttr<NoInlineAttr>() ||
        function->getTemplateSpecializationKind() == TSK_ExplicitSpecialization ||
        with_labels_.contains(function))
      return false;
    if (const FunctionTemplateDecl* described = function->getDescribedFunctionTemplate();
        described && !explicit_specialisations(*described).empty())
      return false;
    // Names in its body are looked up in the kernel's scope afterwards.
    if (!function->getEnclosingNamespaceContext()->Encloses(view_.kernel()->getEnclosingNamespaceContext()))
      return false;
    return std::ranges::count_if(view_.functions(), [&](const FunctionDecl* other) {
             return other->getDeclName() == function->getDeclName();
           }) == 1;
  }

  // It has memory other than the block's own at hand, and goes through it.
  bool does_the_work(const HelperCall& found) const {
    bool reaches_memory = false, goes_through = false;
    for (unsigned i = 0; i < found.helper->getNumParams() && i < found.call->getNumArgs(); ++i) {
      const QualType type = found.helper->getParamDecl(i)->getType();
      reaches_memory |= type->isPointerType() ? !view_.is_on_chip(found.call->getArg(i))
                                              : type.getNonReferenceType()->isRecordType();
    }
    view_.visit(found.helper->getBody(), [&](const Stmt* part) { goes_through |= is_for_threads(part); });
    visit_called(view_, found.call, [&](const Stmt* part) { goes_through |= is_for_threads(part); });
    return reaches_memory && goes_through;
  }

  static bool is_for_threads(const Stmt* part) {
    const auto* expression = dyn_cast<Expr>(part);
    return isa<ForStmt>(part) || isa<WhileStmt>(part) || isa<DoStmt>(part) ||
           (expression && !KernelView::builtin_name(expression).empty());
  }

  bool find_statement(HelperCall& found) const {
    const Stmt* inner = found.call;
    const Stmt* above = view_.parent(inner);
    while (isa_and_nonnull<ImplicitCastExpr>(above) || isa_and_nonnull<ExprWithCleanups>(above) ||
           isa_and_nonnull<ParenExpr>(above)) {
      inner = above;
      above = view_.parent(above);
    }
    if (const auto* declaration = dyn_cast_or_null<DeclStmt>(above)) {
      found.assigned =
          declaration->isSingleDecl() ? dyn_cast<VarDecl>(declaration->getSingleDecl()) : nullptr;
      if (!found.assigned || found.assigned->getInit() != inner ||
          found.assigned->getInitStyle() != VarDecl::CInit || found.assigned->getType()->isReferenceType())
        return false;
    } else if (const auto parts = binary_parts(above); parts && parts->operation == BO_Assign) {
      found.assigned = parts->right == inner ? named_variable(parts->left->IgnoreParenImpCasts()) : nullptr;
      if (!found.assigned || found.assigned->getType()->isReferenceType())
        return false;
    }
    found.statement = found.assigned ? above : inner;
    const Stmt* holder = view_.parent(found.statement);
    found.is_in_block =
        isa_and_nonnull<CompoundStmt>(holder) && !isa_and_nonnull<SwitchStmt>(view_.parent(holder));
    return found.is_in_block || (!found.assigned && is_body_of(holder, found.statement));
  }

  static bool is_body_of(const Stmt* holder, const Stmt* statement) {
    if (const auto* choice = dyn_cast_or_null<IfStmt>(holder))
      return choice->getThen() == statement || choice->getElse() == statement;
    if (const auto* loop = dyn_cast_or_null<ForStmt>(holder))
      return loop->getBody() == statement;
    const auto* loop = dyn_cast_or_null<WhileStmt>(holder);
    return loop && loop->getBody() == statement;
  }

  bool returns_at_its_end(HelperCall& found) const {
    std::vector<const ReturnStmt*> returns;
    bool is_alone = true; // nothing in it has a meaning of its own in another function
    view_.visit(found.helper->getBody(), [&](const Stmt* part) {
      if (const auto* result = dyn_cast<ReturnStmt>(part); result && !is_in_lambda(result))
        returns.push_back(result);
      if (const auto* declaration = dyn_cast<DeclStmt>(part))
        for (const Decl* declared : declaration->decls())
          if (const auto* variable = dyn_cast<VarDecl>(declared))
            is_alone &= !variable->isStaticLocal() || variable->hasAttr<CUDASharedAttr>();
      is_alone &= !isa<CXXTryStmt>(part) && !isa<PredefinedExpr>(part);
    });
    if (!is_alone)
      return false;
    const auto* body = cast<CompoundStmt>(found.helper->getBody());
    if (found.helper->getReturnType()->isVoidType()) {
      const bool has_value =
          std::ranges::any_of(returns, [](const ReturnStmt* one) { return one->getRetValue() != nullptr; });
      const auto* all = cast<CompoundStmt>(view_.kernel()->getBody());
      return !found.assigned && !has_value && (returns.empty() || all->body_back() == found.statement);
    }
    if (!found.assigned || returns.size() != 1 || returns.front() != body->body_back() ||
        found.helper->getReturnType()->isReferenceType() || found.helper->getReturnType()->isUndeducedType())
      return false;
    found.result = returns.front();
    return found.result->getRetValue() != nullptr;
  }

  bool is_in_lambda(const Stmt* statement) const {
    for (const Stmt* above = view_.parent(statement); above; above = view_.parent(above))
      if (isa<LambdaExpr>(above))
        return true;
    return false;
  }

  const KernelView& view_;
  std::set<const FunctionDecl*> with_labels_;
  std::map<const FunctionDecl*, int> mentions_;
};

} // namespace

std::vector<HelperCall> helper_calls(const KernelView& view) {
  return Finder(view).run();
}

} // namespace lathe::refactor
