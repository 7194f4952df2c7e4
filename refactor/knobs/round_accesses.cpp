#include "refactor/knobs/round_accesses.h"

#include "refactor/knobs/called_functions.h"
#include "refactor/knobs/statement_effects.h"
#include "refactor/knobs/thread_variance.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/Attr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <regex>

namespace lathe::refactor {

using namespace clang;

namespace {

constexpr unsigned narrow_bits = 32;

// Reads what its one argument points to.
bool loads_by_name(const std::string& name) {
  static const std::regex pattern("^__ld(g|c[agsv]|lu)$");
  return std::regex_match(name, pattern);
}

class Round {
public:
  Round(const KernelView& view, const Stmt* outer, bool spans_grid)
      : view_(view), outer_(outer), spans_grid_(spans_grid) {}

  std::variant<std::string, std::vector<RoundAccess>> read(const std::vector<const Stmt*>& parts) {
    for (const Stmt* part : parts) {
      part_ = part;
      const StatementEffects effects = effects_of(view_, part);
      if (effects.leaves || effects.orders_memory)
        refuse(part, effects.leaves ? "a round may end the loop" : "a round orders memory");
      view_.visit(part, [&](const Stmt* statement) { note(statement); });
    }
    // A name of memory that is no part of an access may be used in any way.
    for (const Stmt* part : parts)
      view_.visit(part, [&](const Stmt* statement) {
        const VarDecl* variable = named_variable(statement);
        if (variable && names_memory(variable) && !accounted_.count(statement) && !is_rounds_own(variable) &&
            !starts_a_pointer(statement))
          refuse(statement, variable->getNameAsString() + " is used other than element by element");
      });
    if (!refusal_.empty())
      return refusal_;
    return accesses_;
  }

private:
  const KernelView& view_;
  const Stmt* outer_;
  const bool spans_grid_;
  const Stmt* part_ = nullptr; // that is looked at
  std::string refusal_;
  std::vector<RoundAccess> accesses_;
  std::set<const Stmt*> accounted_; // names of memory, and places, that are part of an access

  void refuse(const Stmt* at, const std::string& what) {
    if (refusal_.empty())
      refusal_ = what + " at " + view_.at_line(at->getBeginLoc());
  }

  bool is_declared_inside(const VarDecl* variable) const { return declares(view_, outer_, variable); }

  // Elements of a local array of the round.
  bool is_rounds_own(const VarDecl* variable) const {
    return variable->getType()->isArrayType() && !variable->hasAttr<CUDASharedAttr>() &&
           is_declared_inside(variable);
  }

  // `const T* row = p + ...` within the round: its accesses are followed to p.
  bool starts_a_pointer(const Stmt* name) const {
    for (const Stmt* above = view_.parent(name); above; above = view_.parent(above)) {
      if (const auto* declaration = dyn_cast<DeclStmt>(above))
        return declares_fixed_pointer(view_, declaration);
      if (isa<CallExpr>(above) || !isa<Expr>(above))
        return false;
    }
    return false;
  }

  void note(const Stmt* statement) {
    if (isa<AsmStmt>(statement) || isa<LambdaExpr>(statement) || isa<StmtExpr>(statement) ||
        isa<CXXNewExpr>(statement) || isa<CXXDeleteExpr>(statement))
      return refuse(statement, "a round does what cannot be read");
    if (const auto* expression = dyn_cast<Expr>(statement);
        expression && is_of_a_thread(expression, spans_grid_))
      return refuse(statement, "a round names " + KernelView::builtin_name(expression));
    if (const auto* call = dyn_cast<CallExpr>(statement))
      return note_call(call);
    if (accounted_.count(statement))
      return;
    if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(statement)) {
      if (!is_row_of_an_array(subscript))
        note_place(subscript, subscript);
    } else if (const auto* unary = dyn_cast<UnaryOperator>(statement);
               unary && unary->getOpcode() == UO_Deref) {
      note_place(unary, nullptr);
    } else if (const VarDecl* variable = named_variable(statement)) {
      note_variable(cast<DeclRefExpr>(statement), variable);
    }
  }

  // a[i] of a[i][j].
  bool is_row_of_an_array(const ArraySubscriptExpr* subscript) const {
    const Stmt* above = view_.parent(subscript);
    while (isa_and_nonnull<ImplicitCastExpr>(above) || isa_and_nonnull<ParenExpr>(above))
      above = view_.parent(above);
    const auto* further = dyn_cast_or_null<ArraySubscriptExpr>(above);
    return further && further->getBase()->IgnoreParenImpCasts() == subscript;
  }

  void note_call(const CallExpr* call) {
    if (binary_parts(call))
      return;
    const StatementEffects effects = effects_of(view_, call);
    if (effects.changes_memory)
      return refuse(call, "a call may change memory");
    if (loads_by_name(callee_name(view_, call)) && call->getNumArgs() == 1)
      return note_load(call);
    for (const Expr* argument : call->arguments())
      if (argument->getType()->isPointerType())
        return refuse(call, "a call is handed an address");
    if (call_varies_between_threads(view_, call, spans_grid_))
      refuse(call, "what a call gives may depend on the thread");
  }

  void note_load(const CallExpr* call) {
    RoundAccess access;
    access.location = call->getBeginLoc();
    access.loads = true;
    access.base = memory_base(view_, call->getArg(0));
    if (!access.base.variable || !isa<ParmVarDecl>(access.base.variable))
      return refuse(call, "it is not known what memory is loaded");
    access.indices.push_back(access.base.offset);
    account(call->getArg(0));
    accesses_.push_back(std::move(access));
  }

  void note_place(const Expr* place, const ArraySubscriptExpr* subscript) {
    RoundAccess access;
    access.location = place->getBeginLoc();
    const Expr* address = nullptr;
    access.bounds_rounds = subscript && is_done_in_every_round(place);
    if (place->getType().isVolatileQualified())
      return refuse(place, "other threads may look at what is volatile");
    while (subscript) {
      access.indices.insert(access.indices.begin(), view_.evaluate(subscript->getIdx()));
      const QualType type = subscript->getIdx()->getType();
      access.bounds_rounds &= type->isSignedIntegerType() && view_.context().getTypeSize(type) <= narrow_bits;
      address = subscript->getBase();
      subscript = dyn_cast<ArraySubscriptExpr>(address->IgnoreParenImpCasts());
      if (subscript && !subscript->getType()->isArrayType())
        return refuse(place, "an address is loaded from memory");
    }
    if (!address) {
      address = cast<UnaryOperator>(place)->getSubExpr();
      access.indices.emplace_back();
    }
    access.base = memory_base(view_, address);
    if (!access.base.variable)
      return refuse(place, "it is not known what memory is accessed");
    account(address);
    if (is_rounds_own(access.base.variable))
      return;
    if (!is_shared_between_threads(access.base.variable))
      return refuse(place, access.base.variable->getNameAsString() + " is each thread's own");
    access.indices.back() = access.indices.back() + access.base.offset;
    const PlaceUse use = use_of_place(view_, place);
    if (!use.known)
      return refuse(place, "it is not known whether a round stores");
    access.stores = use.stores;
    access.loads = use.loads;
    accesses_.push_back(std::move(access));
  }

  bool is_done_in_every_round(const Stmt* statement) const {
    for (; statement && statement != part_; statement = view_.parent(statement)) {
      const auto parts = binary_parts(statement);
      if ((!isa<Expr>(statement) && !isa<CompoundStmt>(statement) && !isa<DeclStmt>(statement)) ||
          isa<AbstractConditionalOperator>(statement) ||
          (parts && BinaryOperator::isLogicalOp(parts->operation)))
        return false;
    }
    return statement != nullptr;
  }

  bool is_shared_between_threads(const VarDecl* variable) const {
    if (isa<ParmVarDecl>(variable) || variable->hasGlobalStorage())
      return true;
    return variable->getType()->isPointerType() && variable->hasInit() &&
           comes_from(view_, variable->getInit(), variable, [](const Stmt* part) {
             const VarDecl* origin = named_variable(part);
             return origin && origin->hasAttr<CUDASharedAttr>();
           });
  }

  // The name at the bottom of an address; the numbers that are added to it are looked at on their own.
  void account(const Expr* address) {
    while (true) {
      address = address->IgnoreParenCasts();
      if (const auto parts = binary_parts(address)) {
        const QualType type = parts->left->getType();
        address = type->isPointerType() || type->isArrayType() ? parts->left : parts->right;
      } else if (const auto* unary = dyn_cast<UnaryOperator>(address)) {
        address = unary->getSubExpr();
      } else if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(address)) {
        accounted_.insert(subscript);
        address = subscript->getBase();
      } else {
        accounted_.insert(address);
        return;
      }
    }
  }

  void note_variable(const DeclRefExpr* reference, const VarDecl* variable) {
    if (names_memory(variable)) {
      if (!variable->getType()->isPointerType() && !variable->getType()->isArrayType())
        note_shared_number(reference, variable);
      else if (variable->getType()->isPointerType() && !is_declared_inside(variable) &&
               varies_between_threads(view_, variable, spans_grid_) && !variable->hasAttr<CUDASharedAttr>())
        refuse(reference, variable->getNameAsString() + " depends on the thread");
      return;
    }
    if (!is_declared_inside(variable) && varies_between_threads(view_, variable, spans_grid_))
      refuse(reference, variable->getNameAsString() + " may be another one in another thread");
  }

  void note_shared_number(const DeclRefExpr* reference, const VarDecl* variable) {
    accounted_.insert(reference);
    RoundAccess access;
    access.base = {variable, true, {}};
    access.indices.emplace_back();
    access.location = reference->getLocation();
    const PlaceUse use = use_of_place(view_, reference);
    if (!use.known || use.stores)
      return refuse(reference, "every round stores " + variable->getNameAsString());
    access.loads = true;
    accesses_.push_back(std::move(access));
  }
};

// Every function of that name takes its argument by value or as const.
bool only_reads_argument(const KernelView& view, const CallExpr* call, unsigned index) {
  const auto reads = [&](const FunctionDecl* function) {
    if (index >= function->getNumParams())
      return false;
    const QualType type = function->getParamDecl(index)->getType();
    return !type->isReferenceType() || type->getPointeeType().isConstQualified();
  };
  if (const FunctionDecl* callee = call->getDirectCallee())
    return reads(callee);
  bool any = false, all = true;
  const std::string name = callee_name(view, call);
  for (const FunctionDecl* function : view.functions())
    if (function->getNameAsString() == name) {
      any = true;
      all &= reads(function);
    }
  return any && all;
}

} // namespace

PlaceUse use_of_place(const KernelView& view, const Expr* place) {
  const Stmt* at = place;
  for (const Stmt* above = view.parent(at); above; at = above, above = view.parent(above)) {
    if (const auto* cast = dyn_cast<ImplicitCastExpr>(above);
        cast && cast->getCastKind() == CK_LValueToRValue)
      return {false, true, true};
    if (isa<ParenExpr>(above) || isa<ImplicitCastExpr>(above))
      continue;
    if (const auto* choice = dyn_cast<ConditionalOperator>(above); choice && choice->getCond() != at)
      continue;
    if (const auto* member = dyn_cast<MemberExpr>(above); member && !member->isArrow())
      continue;
    if (const auto parts = binary_parts(above)) {
      const bool is_target = parts->left == at && BinaryOperator::isAssignmentOp(parts->operation);
      return {is_target, !is_target || parts->operation != BO_Assign, true};
    }
    if (const auto* unary = dyn_cast<UnaryOperator>(above)) {
      if (unary->getOpcode() == UO_AddrOf)
        return {};
      return {unary->isIncrementDecrementOp(), true, true};
    }
    if (const auto* call = dyn_cast<CallExpr>(above)) {
      for (unsigned i = 0; i < call->getNumArgs(); ++i)
        if (call->getArg(i) == at)
          return {false, true, only_reads_argument(view, call, i)};
      return {};
    }
    if (const auto* declaration = dyn_cast<DeclStmt>(above)) {
      const auto* variable =
          declaration->isSingleDecl() ? dyn_cast<VarDecl>(declaration->getSingleDecl()) : nullptr;
      const bool reads = variable && (!variable->getType()->isReferenceType() ||
                                      variable->getType()->getPointeeType().isConstQualified());
      return {false, true, reads};
    }
    return {false, true, true}; // a conversion, a condition, an index
  }
  return {};
}

std::variant<std::string, std::vector<RoundAccess>> round_accesses(const KernelView& view, const Stmt* outer,
                                                                   const std::vector<const Stmt*>& parts,
                                                                   bool spans_grid) {
  return Round(view, outer, spans_grid).read(parts);
}

} // namespace lathe::refactor
