#include "refactor/knobs/early_loads.h"

#include "refactor/knobs/global_accesses.h"
#include "refactor/knobs/statement_effects.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// What is loaded, where the pointer says so; a null type otherwise.
QualType loaded_type(const Expr* place) {
  const Expr* address = isa<ArraySubscriptExpr>(place) ? cast<ArraySubscriptExpr>(place)->getBase()
                                                       : cast<UnaryOperator>(place)->getSubExpr();
  const QualType type = address->IgnoreParens()->getType();
  return type->isPointerType() ? type->getPointeeType() : QualType();
}

bool has_plain_address(const KernelView& view, const Expr* place) {
  if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(place))
    return is_plain_value(view, subscript->getBase()) && is_plain_value(view, subscript->getIdx());
  return is_plain_value(view, cast<UnaryOperator>(place)->getSubExpr());
}

// Climbs from one load as far up in the text as it may go.
class Climber {
public:
  Climber(const KernelView& view, const GlobalAccess& access) : view_(view), access_(access) {
    operands_ = variables_in(view, access.place);
    const QualType pointer = access.pointer->getType();
    never_changes_ = pointer.isRestrictQualified() && pointer->getPointeeType().isConstQualified() &&
                     !view.is_modified(access.pointer);
  }

  std::optional<EarlyLoad> climb() {
    load_.place = access_.place;
    load_.type = loaded_type(access_.place);
    if (load_.type.isNull() || load_.type.isVolatileQualified() || !has_plain_address(view_, access_.place))
      return std::nullopt;
    const Stmt* child = access_.place;
    for (const Stmt* above = view_.parent(child); above && step(child, above); above = view_.parent(child))
      child = above;
    // The conditions of branches that were not left are the statement's own.
    load_.conditions.resize(conditions_before_);
    std::ranges::reverse(load_.conditions);
    return load_.before ? std::optional(load_) : std::nullopt;
  }

private:
  const KernelView& view_;
  const GlobalAccess& access_;
  std::set<const VarDecl*> operands_;
  bool never_changes_ = false;
  EarlyLoad load_;
  std::size_t conditions_before_ = 0; // that stand between `before` and the load

  bool add_condition(const Expr* condition, bool holds) {
    if (!is_plain_value(view_, condition) || !view_.range(condition->getSourceRange()))
      return false;
    load_.conditions.emplace_back(condition, holds);
    operands_.merge(variables_in(view_, condition));
    return true;
  }

  // False where the load must stay below.
  bool step(const Stmt* child, const Stmt* above) {
    if (const auto* choice = dyn_cast<ConditionalOperator>(above))
      return child == choice->getCond() || add_condition(choice->getCond(), child == choice->getTrueExpr());
    if (const auto parts = binary_parts(above); parts && BinaryOperator::isLogicalOp(parts->operation))
      return child == parts->left || add_condition(parts->left, parts->operation == BO_LAnd);
    if (const auto* branch = dyn_cast<IfStmt>(above)) {
      if (branch->getInit() || branch->getConditionVariable() || branch->isConstexpr())
        return false;
      return child == branch->getCond() || add_condition(branch->getCond(), child == branch->getThen());
    }
    if (const auto* block = dyn_cast<CompoundStmt>(above))
      return pass_block(block, child);
    if (const auto* declaration = dyn_cast<DeclStmt>(above))
      return !declares_operand(declaration);
    if (isa<LambdaExpr>(above) || isa<StmtExpr>(above) || isa<BinaryConditionalOperator>(above))
      return false;
    // An assignment of one operand in the statement that loads may come first.
    if (const auto parts = binary_parts(above); parts && BinaryOperator::isAssignmentOp(parts->operation))
      return !changes_operand(above);
    return isa<Expr>(above) || isa<AttributedStmt>(above);
  }

  bool pass_block(const CompoundStmt* block, const Stmt* child) {
    std::vector<const Stmt*> earlier;
    for (const Stmt* statement : block->body()) {
      if (statement == child)
        break;
      earlier.push_back(statement);
    }
    for (auto at = earlier.rbegin(); at != earlier.rend(); ++at)
      if (!pass(*at))
        return false;
    return true;
  }

  bool pass(const Stmt* statement) {
    if (isa<SwitchCase>(statement) || isa<LabelStmt>(statement))
      return false; // it may be jumped to
    const StatementEffects effects = effects_of(view_, statement);
    if (effects.leaves || effects.orders_memory || (effects.changes_memory && !never_changes_) ||
        changes_operand(statement))
      return false;
    if (effects.is_slow) {
      load_.before = statement;
      conditions_before_ = load_.conditions.size();
    }
    return true;
  }

  bool declares_operand(const DeclStmt* declaration) const {
    return std::ranges::any_of(declaration->decls(), [&](const Decl* declared) {
      const auto* variable = dyn_cast<VarDecl>(declared);
      return variable && operands_.count(variable) > 0;
    });
  }

  // Declares one of them, or names one that is changed somewhere.
  bool changes_operand(const Stmt* statement) const {
    bool changes = false;
    view_.visit(statement, [&](const Stmt* part) {
      if (const auto* declaration = dyn_cast<DeclStmt>(part)) {
        changes |= declares_operand(declaration);
      } else if (const auto* reference = dyn_cast<DeclRefExpr>(part)) {
        const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
        changes |= variable && operands_.count(variable) > 0 && view_.is_modified(variable) &&
                   !view_.within(access_.place, reference);
      }
    });
    return changes;
  }
};

} // namespace

std::variant<std::string, std::vector<EarlyLoad>> find_early_loads(const KernelView& view) {
  std::vector<EarlyLoad> loads;
  bool any = false;
  for (const GlobalAccess& access : global_accesses(view, view.kernel())) {
    if (access.store)
      continue;
    any = true;
    if (auto load = Climber(view, access).climb())
      loads.push_back(*load);
  }
  if (!any)
    return "no load goes through a kernel parameter in a form that can be moved";
  if (loads.empty())
    return "every load stands where it can first be asked for, or behind nothing that takes long";
  return loads;
}

} // namespace lathe::refactor
