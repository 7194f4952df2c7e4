#include "refactor/knobs/block_uniform.h"

#include "refactor/knobs/called_functions.h"
#include "refactor/knobs/memory_base.h"
#include "refactor/knobs/statement_effects.h"
#include "refactor/knobs/strided_loop.h"
#include "refactor/knobs/thread_variance.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

namespace lathe::refactor {

using namespace clang;

namespace {

class Uniformity {
public:
  explicit Uniformity(const KernelView& view) : view_(view) {}

  bool of(const VarDecl* variable) {
    if (!seen_.insert(variable).second)
      return true; // it has been found so, or the answer is on its way
    const StringRef name = variable->getName();
    if (name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim" ||
        name == "warpSize")
      return true; // which of its members counts is looked at where it is named
    if (variable->getType()->isArrayType())
      return true; // an address; its elements are looked at where they are loaded
    if (variable->hasAttr<CUDASharedAttr>() || variable->getType()->isReferenceType())
      return false;
    if (view_.is_modified(variable)) // all but the counters of loops that all threads run alike
      return !varies_between_threads(view_, variable, false);
    if (isa<ParmVarDecl>(variable))
      return true;
    if (!variable->isLocalVarDecl() || variable->isStaticLocal())
      return variable->getType().isConstQualified();
    return variable->hasInit() && of(variable->getInit());
  }

  bool of(const Stmt* value) {
    bool uniform = true;
    view_.visit(value, [&](const Stmt* part) { uniform = uniform && is_uniform_part(part); });
    return uniform;
  }

private:
  const KernelView& view_;
  std::set<const VarDecl*> seen_;

  bool is_uniform_part(const Stmt* part) {
    if (isa<AsmStmt>(part) || isa<LambdaExpr>(part) || isa<StmtExpr>(part))
      return false;
    if (const auto* expression = dyn_cast<Expr>(part);
        expression && (is_of_a_thread(expression, false) || expression->getType().isVolatileQualified()))
      return false;
    if (const VarDecl* variable = named_variable(part))
      return of(variable);
    if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(part))
      return never_changes(subscript->getBase());
    if (const auto* unary = dyn_cast<UnaryOperator>(part))
      return !unary->isIncrementDecrementOp() &&
             (unary->getOpcode() != UO_Deref || never_changes(unary->getSubExpr()));
    if (const auto parts = binary_parts(part))
      return !BinaryOperator::isAssignmentOp(parts->operation);
    if (const auto* member = dyn_cast<MemberExpr>(part))
      return !member->isArrow() || never_changes(member->getBase());
    if (isa<CXXDependentScopeMemberExpr>(part) || isa<CXXThisExpr>(part))
      return false;
    const auto* call = dyn_cast<CallExpr>(part);
    return !call || of_call(call);
  }

  // What the launch finds there stays while the kernel runs.
  bool never_changes(const Expr* address) const {
    const VarDecl* base = memory_base(view_, address).variable;
    if (!base)
      return false;
    if (!isa<ParmVarDecl>(base))
      return base->isConstexpr();
    const QualType type = base->getType();
    return type.isRestrictQualified() && type->getPointeeType().isConstQualified();
  }

  // Of numbers alone, without a look at memory.
  bool of_call(const CallExpr* call) const {
    if (callee_name(view_, call) == "__ldg" && call->getNumArgs() == 1)
      return never_changes(call->getArg(0));
    if (const auto* method = dyn_cast<CXXMemberCallExpr>(call))
      return isa_and_nonnull<CXXConversionDecl>(method->getMethodDecl());
    const StatementEffects effects = effects_of(view_, call);
    if (effects.orders_memory || effects.changes_memory || call_varies_between_threads(view_, call, false))
      return false;
    bool computes = !call_at_named_memory(view_, call);
    for (const Expr* argument : call->arguments())
      computes &= argument->getType()->isArithmeticType() || argument->getType()->isDependentType();
    visit_called(view_, call, [&](const Stmt* part) {
      const auto* unary = dyn_cast<UnaryOperator>(part);
      computes &= !isa<ArraySubscriptExpr>(part) && !(unary && unary->getOpcode() == UO_Deref);
    });
    return computes;
  }
};

bool is_jump(const Stmt* statement) {
  return isa<ReturnStmt>(statement) || isa<GotoStmt>(statement) || isa<IndirectGotoStmt>(statement) ||
         isa<BreakStmt>(statement) || isa<ContinueStmt>(statement);
}

bool is_loop(const Stmt* statement) {
  return isa<ForStmt>(statement) || isa<WhileStmt>(statement) || isa<DoStmt>(statement) ||
         isa<CXXForRangeStmt>(statement);
}

class Arrival {
public:
  explicit Arrival(const KernelView& view) : view_(view) {}

  std::optional<std::string> at(const Stmt* statement) const {
    if (functions_with_labels(view_).contains(view_.kernel()))
      return "the kernel has labels";
    const Stmt* child = statement;
    for (const Stmt* above = view_.parent(child); above; child = above, above = view_.parent(above)) {
      if (!is_passed_alike(above, child))
        return "not every thread of the block need get to" + line_of(statement) + ", by" + line_of(above);
      std::optional<std::string> left;
      if (const auto* block = dyn_cast<CompoundStmt>(above))
        left = left_before(block, child);
      else if (is_loop(above))
        left = leaves_some(child); // in a round before
      if (left)
        return left;
    }
    return std::nullopt;
  }

private:
  const KernelView& view_;

  std::string line_of(const Stmt* statement) const { return " " + view_.at_line(statement->getBeginLoc()); }

  // Whoever gets to `above` gets to `child`, all as often.
  bool is_passed_alike(const Stmt* above, const Stmt* child) const {
    if (isa<CompoundStmt>(above) || isa<AttributedStmt>(above))
      return true;
    if (const auto* branch = dyn_cast<IfStmt>(above))
      return child != branch->getCond() && !branch->getInit() && !branch->hasVarStorage() &&
             is_block_uniform(view_, branch->getCond());
    const auto* loop = dyn_cast<ForStmt>(above);
    const auto read = loop ? read_strided_loop(view_, loop) : std::nullopt;
    return read && child == loop->getBody() && is_block_uniform(view_, read->counter->getInit()) &&
           is_block_uniform(view_, read->bound) && (!read->step_by || is_block_uniform(view_, read->step_by));
  }

  std::optional<std::string> left_before(const CompoundStmt* block, const Stmt* child) const {
    for (const Stmt* earlier : block->body()) {
      if (earlier == child)
        break;
      if (auto left = leaves_some(earlier))
        return left;
    }
    return std::nullopt;
  }

  // A jump out of the statement, or an end of the thread, that is not every thread's.
  std::optional<std::string> leaves_some(const Stmt* statement) const {
    std::optional<std::string> left;
    view_.visit(statement, [&](const Stmt* part) {
      const auto* call = dyn_cast<CallExpr>(part);
      const auto* assembly = dyn_cast<GCCAsmStmt>(part);
      const bool ends = (call && effects_of(view_, call).leaves) ||
                        (assembly && assembly->getAsmString()->getString().contains("exit"));
      if (ends || (is_jump(part) && !is_passed_by_all(part, statement)))
        left = "threads may have left at" + line_of(part);
    });
    return left;
  }

  // Of a jump: one that stays within the statement is no matter.
  bool is_passed_by_all(const Stmt* jump, const Stmt* statement) const {
    const bool is_inner = isa<BreakStmt>(jump) || isa<ContinueStmt>(jump);
    bool alike = true;
    for (const Stmt* child = jump; child != statement;) {
      const Stmt* above = view_.parent(child);
      if (!above)
        return false;
      if (is_inner && (is_loop(above) || (isa<SwitchStmt>(above) && isa<BreakStmt>(jump))))
        return true;
      alike = alike && is_passed_alike(above, child);
      child = above;
    }
    return alike;
  }
};

} // namespace

bool is_block_uniform(const KernelView& view, const Stmt* value) {
  return Uniformity(view).of(value);
}

bool is_block_uniform(const KernelView& view, const VarDecl* variable) {
  return Uniformity(view).of(variable);
}

std::optional<std::string> kept_from_some_threads(const KernelView& view, const Stmt* statement) {
  return Arrival(view).at(statement);
}

} // namespace lathe::refactor
