#include "refactor/knobs/thread_element.h"

#include "refactor/knobs/called_functions.h"
#include "refactor/knobs/strided_loop.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <set>
#include <string>

namespace lathe::refactor {

using namespace clang;

namespace {

class Finder {
public:
  Finder(KernelView& view, const LaunchFacts& facts) : view_(view), facts_(facts) {}

  std::variant<std::string, ThreadElement> run() {
    const auto* body = dyn_cast_or_null<CompoundStmt>(view_.kernel()->getBody());
    if (!body)
      return "the kernel has no body";
    std::vector<const DeclStmt*> before;
    auto at = body->body_begin();
    for (; at != body->body_end() && !is_guard(*at); ++at) {
      const auto* declaration = dyn_cast<DeclStmt>(*at);
      if (!declaration)
        return "no guard of a thread's element stands before everything else";
      if (!only_computes(declaration))
        return "more than a computation stands before the guard at " + view_.at_line((*at)->getBeginLoc());
      before.push_back(declaration);
      note_number(declaration);
    }
    if (at == body->body_end() || !found_.number)
      return "threads do not take one element each";
    found_.guard = cast<IfStmt>(*at);
    found_.leaves = jump_of(found_.guard) != nullptr;
    if (!found_.leaves && at + 1 != body->body_end())
      return "something is done behind the guarded work at " + view_.at_line((*(at + 1))->getBeginLoc());
    if (!split(found_.guard->getCond()) || !found_.bound)
      return "the guard at " + view_.at_line(found_.guard->getBeginLoc()) + " is not of one element";
    if (found_.leaves)
      found_.work.assign(at + 1, body->body_end());
    else
      found_.work.push_back(found_.guard->getThen());
    if (found_.work.empty())
      return "there is no work";
    for (const DeclStmt* declaration : before)
      if (mentions_element(declaration) && !declares(view_, declaration, found_.number))
        found_.dependent.push_back(declaration);
    for (const Expr* condition : found_.conditions)
      if (mentions_thread(condition) || !only_computes(condition))
        return "the guard at " + view_.at_line(found_.guard->getBeginLoc()) +
               " asks more than of the element";
    const auto others = std::stable_partition(found_.conditions.begin(), found_.conditions.end(),
                                              [&](const Expr* asked) { return !mentions_element(asked); });
    found_.of_element.assign(others, found_.conditions.end());
    found_.conditions.erase(others, found_.conditions.end());
    if (mentions_element(found_.bound) || mentions_thread(found_.bound))
      return "the bound at " + view_.at_line(found_.bound->getBeginLoc()) + " depends on the element";

    ElementWork work{found_.number, found_.work, found_.guard, false};
    work.parts.insert(work.parts.end(), found_.dependent.begin(), found_.dependent.end());
    view_.keep(found_.number, loop_atom);
    auto accesses = read_element_work(view_, work);
    view_.release(found_.number);
    if (auto* reason = std::get_if<std::string>(&accesses))
      return *reason;
    found_.accesses = std::get<std::vector<ElementAccess>>(accesses);
    return found_;
  }

private:
  KernelView& view_;
  const LaunchFacts& facts_;
  ThreadElement found_;

  static const Stmt* jump_of(const IfStmt* branch) {
    const Stmt* then = branch->getThen();
    if (const auto* block = dyn_cast<CompoundStmt>(then); block && block->size() == 1)
      then = block->body_front();
    return isa<ReturnStmt>(then) ? then : nullptr;
  }

  // A branch that another rule put there for another value of its knob is none.
  bool is_guard(const Stmt* statement) const {
    const auto* branch = dyn_cast<IfStmt>(statement);
    return branch && !branch->isConstexpr() && !branch->getElse() && !branch->hasInitStorage();
  }

  // It may be done once for several elements, or once for each of them.
  bool only_computes(const Stmt* statement) const {
    static const std::set<std::string> known{"__ldg", "min", "max"};
    bool pure = true;
    view_.visit(statement, [&](const Stmt* part) {
      const auto* unary = dyn_cast<UnaryOperator>(part);
      const auto* call = dyn_cast<CallExpr>(part);
      const auto parts = binary_parts(part);
      pure &= !(unary && unary->isIncrementDecrementOp()) &&
              !(parts && BinaryOperator::isAssignmentOp(parts->operation)) && !isa<LambdaExpr>(part) &&
              (!call || parts || known.contains(callee_name(view_, call)) || is_only_a_value(call));
    });
    return pure;
  }

  // Of a function that is one expression, which only computes.
  bool is_only_a_value(const CallExpr* call) const {
    const Expr* value = view_.returned_expression(call);
    return value && only_computes(value);
  }

  // Where the declaration is of the thread's number in the grid.
  void note_number(const DeclStmt* declaration) {
    if (found_.number || !declaration->isSingleDecl())
      return;
    const auto* variable = dyn_cast<VarDecl>(declaration->getSingleDecl());
    if (!variable || !variable->hasInit() || !variable->getType()->isIntegerType() ||
        view_.is_modified(variable))
      return;
    std::vector<Polynomial> sizes{Polynomial::atom("blockDim.x")};
    if (facts_.constant_block[0])
      sizes.push_back(Polynomial::constant(*facts_.constant_block[0]));
    const Polynomial value = view_.evaluate(variable->getInit());
    if (std::ranges::any_of(sizes, [&](const Polynomial& size) {
          return value == Polynomial::atom("blockIdx.x") * size + Polynomial::atom("threadIdx.x");
        }))
      found_.number = variable;
  }

  // The conditions that must hold for the work, one of them of the element.
  bool split(const Expr* condition) {
    const auto parts = binary_parts(condition->IgnoreParenImpCasts());
    if (parts && parts->operation == (found_.leaves ? BO_LOr : BO_LAnd))
      return split(parts->left) && split(parts->right);
    if (parts && !found_.bound) {
      const bool forwards = parts->operation == (found_.leaves ? BO_GE : BO_LT) && is_number(parts->left);
      const bool backwards = parts->operation == (found_.leaves ? BO_LE : BO_GT) && is_number(parts->right);
      if (forwards || backwards) {
        found_.bound = forwards ? parts->right : parts->left;
        return is_stable(view_, view_.evaluate(found_.bound));
      }
    }
    found_.conditions.push_back(condition);
    return true;
  }

  bool is_number(const Expr* expression) const {
    const auto* reference = dyn_cast<DeclRefExpr>(expression->IgnoreParenImpCasts());
    return reference && reference->getDecl() == found_.number;
  }

  // Itself or by way of what is declared before.
  bool mentions_element(const Stmt* statement) const {
    return comes_from(view_, statement, found_.number, [&](const Stmt* part) {
      const auto* reference = dyn_cast<DeclRefExpr>(part);
      return reference && reference->getDecl() == found_.number;
    });
  }

  // Likewise what else is the thread's own along x.
  bool mentions_thread(const Stmt* statement) const {
    return comes_from(view_, statement, found_.number, [](const Stmt* part) {
      const auto* expression = dyn_cast<Expr>(part);
      return expression && is_of_thread_along_x(KernelView::builtin_name(expression));
    });
  }
};

} // namespace

std::variant<std::string, ThreadElement> read_thread_element(KernelView& view, const LaunchFacts& facts) {
  return Finder(view, facts).run();
}

} // namespace lathe::refactor
