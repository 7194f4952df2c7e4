#include "refactor/knobs/between_barriers.h"

#include "refactor/knobs/called_functions.h"
#include "refactor/knobs/statement_effects.h"
#include "refactor/knobs/variables.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

// Nothing is stored through the name where it stands.
bool is_only_loaded(const KernelView& view, const DeclRefExpr* reference) {
  const QualType type = reference->getType();
  if (type->isPointerType() && type->getPointeeType().isConstQualified())
    return true;
  for (const Stmt* above = view.parent(reference); above; above = view.parent(above)) {
    const auto parts = binary_parts(above);
    const auto* unary = dyn_cast<UnaryOperator>(above);
    const auto* subscript = dyn_cast<ArraySubscriptExpr>(above);
    const bool is_place =
        (unary && unary->getOpcode() == UO_Deref) || (subscript && !subscript->getType()->isArrayType());
    if (is_place) {
      const PlaceUse use = use_of_place(view, cast<Expr>(above));
      return use.known && !use.stores;
    }
    if (const auto* declaration = dyn_cast<DeclStmt>(above))
      return declares_fixed_pointer(view, declaration); // its own name is looked at where it is used
    const bool goes_on = isa<ParenExpr>(above) || isa<CastExpr>(above) || subscript ||
                         (parts && BinaryOperator::isAdditiveOp(parts->operation));
    if (!goes_on)
      return false;
  }
  return false;
}

bool only_declares_a_pointer(const KernelView& view, const Stmt* statement) {
  const auto* declaration = dyn_cast<DeclStmt>(statement);
  return declaration && declares_fixed_pointer(view, declaration);
}

} // namespace

bool is_barrier(const KernelView& view, const Stmt* statement) {
  const auto* call = dyn_cast<CallExpr>(statement);
  return call && callee_name(view, call) == "__syncthreads";
}

std::optional<std::string> touches(const KernelView& view, const Stmt* statement,
                                   const std::vector<RoundAccess>& accesses, const Stmt* except) {
  std::optional<std::string> reason;
  if (only_declares_a_pointer(view, statement))
    return reason;
  view.visit(statement, [&](const Stmt* part) {
    const VarDecl* variable = named_variable(part);
    if (reason || !variable || !names_memory(variable) || (except && view.within(except, part)))
      return;
    const MemoryBase base = memory_base(view, variable);
    const bool only_loads = is_only_loaded(view, cast<DeclRefExpr>(part));
    for (const RoundAccess& access : accesses)
      if ((access.stores || !only_loads) && may_overlap(base, access.base))
        reason = variable->getNameAsString() + " is used at " + view.at_line(part->getBeginLoc()) +
                 " with no barrier in between";
  });
  return reason;
}

bool is_place_unknown(const KernelView& view, const Stmt* part) {
  if (const auto* operation = dyn_cast<CXXOperatorCallExpr>(part)) {
    const OverloadedOperatorKind kind = operation->getOperator();
    return kind == OO_Subscript || kind == OO_Call || kind == OO_Arrow ||
           (kind == OO_Star && operation->getNumArgs() == 1);
  }
  if (const auto* member = dyn_cast<CXXDependentScopeMemberExpr>(part))
    return member->isArrow();
  const Expr* address = nullptr;
  if (const auto* member = dyn_cast<MemberExpr>(part); member && member->isArrow())
    address = member->getBase();
  else if (const auto* unary = dyn_cast<UnaryOperator>(part); unary && unary->getOpcode() == UO_Deref)
    address = unary->getSubExpr();
  else if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(part))
    address = subscript->getBase();
  // a[i] of a[i][j]: `a` is looked at on its own.
  if (!address || (isa<ArraySubscriptExpr>(address->IgnoreParenImpCasts()) &&
                   address->IgnoreParenImpCasts()->getType()->isArrayType()))
    return false;
  const VarDecl* base = memory_base(view, address).variable;
  return !base || !names_memory(base);
}

namespace {

class Surroundings {
public:
  Surroundings(const KernelView& view, const std::vector<RoundAccess>& accesses)
      : view_(view), accesses_(accesses) {}

  std::optional<std::string> disturb(const IfStmt* branch) const {
    bool is_open_before = true, is_open_behind = true;
    const Stmt* child = branch;
    for (const Stmt* above = view_.parent(child); above && (is_open_before || is_open_behind);
         child = above, above = view_.parent(above)) {
      if (isa<AttributedStmt>(above) || isa<IfStmt>(above))
        continue;
      const auto* block = dyn_cast<CompoundStmt>(above);
      if (!block)
        return "the branch" + at(branch) + " is not between two barriers of the loop around it";
      const std::vector<const Stmt*> statements(block->body_begin(), block->body_end());
      const auto own = std::ranges::find(statements, child);
      const auto begin = std::make_reverse_iterator(own);
      if (is_open_before)
        if (auto reason = up_to_barrier(begin, statements.rend(), is_open_before))
          return reason;
      if (is_open_behind)
        if (auto reason = up_to_barrier(own + 1, statements.end(), is_open_behind, true))
          return reason;
    }
    return std::nullopt;
  }

private:
  const KernelView& view_;
  const std::vector<RoundAccess>& accesses_;

  std::string at(const Stmt* statement) const { return " at " + view_.at_line(statement->getBeginLoc()); }

  template <class Iterator>
  std::optional<std::string> up_to_barrier(Iterator from, const Iterator& to, bool& is_open,
                                           bool is_behind = false) const {
    for (; from != to; ++from) {
      is_open = !is_barrier(view_, *from) && !isa<ReturnStmt>(*from);
      if (!is_open)
        break;
      if (is_behind && effects_of(view_, *from).leaves)
        return "the block may leave before its threads wait for each other" + at(*from);
      if (auto reason = disturbs(*from))
        return reason;
    }
    return std::nullopt;
  }

  std::optional<std::string> disturbs(const Stmt* statement) const {
    if (auto reason = touches(view_, statement, accesses_))
      return reason;
    if (const CallExpr* call = call_at_named_memory(view_, statement))
      return "a function is at memory that it is not handed" + at(call) + " with no barrier in between";
    if (effects_of(view_, statement).orders_memory)
      return "memory is ordered" + at(statement) + " with no barrier in between";
    std::optional<std::string> reason;
    view_.visit(statement, [&](const Stmt* part) {
      if (!reason)
        reason = hides(part);
    });
    return reason;
  }

  // What `touches` does not see.
  std::optional<std::string> hides(const Stmt* part) const {
    const auto* expression = dyn_cast<Expr>(part);
    if (expression && expression->getType().isVolatileQualified())
      return "other threads may look at what is volatile" + at(part);
    if (const auto* call = dyn_cast<CallExpr>(part);
        call && !binary_parts(call) && effects_of(view_, call).changes_memory)
      return "a call may change memory" + at(part) + " with no barrier in between";
    if (const VarDecl* variable = named_variable(part); variable && variable->getType()->isReferenceType())
      return "it is not known what memory " + variable->getNameAsString() + " is" + at(part);
    if (is_place_unknown(view_, part))
      return "it is not known what memory is accessed" + at(part);
    return std::nullopt;
  }
};

} // namespace

std::optional<std::string> disturbed_between_barriers(const KernelView& view, const IfStmt* branch,
                                                      const std::vector<RoundAccess>& accesses) {
  return Surroundings(view, accesses).disturb(branch);
}

} // namespace lathe::refactor
