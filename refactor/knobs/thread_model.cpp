#include "refactor/knobs/thread_analysis.h"

#include "refactor/knobs/carried_values.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <string_view>

namespace lathe::refactor {

using namespace clang;

std::variant<ThreadRefusal, ThreadModel> ThreadAnalysis::run() {
  keep_divided_indices();
  keep_index_variables();
  check_expressions();
  if (model_.free_grid)
    check_block_results();
  if (!refusal_.empty())
    return ThreadRefusal{refusal_};
  check_blocks_alone();
  if (!refusal_.empty())
    return ThreadRefusal{refusal_};
  for (const auto& [name, location] : indices_)
    if (!guarded_.count(name) && model_.unguarded.empty())
      model_.unguarded = "the index at " + view_.at_line(location) +
                         " is not compared with a bound, so that another block size would run past the end";
  if (!model_.strided && indices_.empty())
    return ThreadRefusal{"no loop or guarded index deals work out by " + thread_};
  return model_;
}

void ThreadAnalysis::refuse(SourceLocation location, const std::string& what) {
  if (refusal_.empty())
    refusal_ = what + " at " + view_.at_line(location);
}

void ThreadAnalysis::note_evidence(SourceLocation location) {
  if (model_.evidence.empty())
    model_.evidence = view_.at_line(location);
}

void ThreadAnalysis::check_expressions() {
  std::set<const Expr*> seen;
  view_.visit([&](const Stmt* statement) {
    const auto* leaf = dyn_cast<Expr>(statement);
    if (!leaf || !refusal_.empty())
      return;
    const std::string builtin = isa<PseudoObjectExpr>(leaf) ? KernelView::builtin_name(leaf) : std::string();
    const auto* reference = dyn_cast<DeclRefExpr>(leaf);
    const auto* call = dyn_cast<CallExpr>(leaf);
    const bool is_value = call && !binary_parts(call) && view_.returned_expression(call);
    if (builtin.empty() && !is_value && (!reference || isa<FunctionDecl>(reference->getDecl())))
      return;
    if (builtin == count_ || (reference && view_.atom_of(reference->getDecl()) == count_))
      model_.count_uses.push_back(leaf);
    // What a function only returns is looked at where it is called.
    if (is_returned(leaf))
      return;
    // Data: what a load's address is made of is looked at there.
    if (reference && (reference->getType()->isRealFloatingType() || names_data(reference)))
      return;
    if (is_dead(leaf) || !is_of_interest(view_.evaluate(leaf)))
      return;
    const Expr* top = maximal(leaf);
    if (!seen.insert(top).second)
      return;
    check(top, view_.evaluate(top));
  });
}

bool ThreadAnalysis::is_returned(const Stmt* leaf) const {
  const FunctionDecl* function = view_.enclosing_function(leaf);
  if (function == view_.kernel())
    return false;
  if (function->isTemplated() || function->isTemplateInstantiation())
    return false;
  std::size_t read = 0;
  view_.visit([&](const Stmt* statement) {
    const auto* call = dyn_cast<CallExpr>(statement);
    const FunctionDecl* called = call ? call->getDirectCallee() : nullptr;
    read += called && called->getCanonicalDecl() == function->getCanonicalDecl() &&
            view_.returned_expression(call);
  });
  return read > 0 && view_.uses(function).size() == read;
}

bool ThreadAnalysis::names_data(const DeclRefExpr* reference) const {
  const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
  return variable && variable->isLocalVarDecl() && variable->hasInit() && !view_.is_modified(variable) &&
         !variable->getType()->isPointerType() && !variable->getType()->isReferenceType() &&
         is_data(variable->getInit());
}

bool ThreadAnalysis::is_data(const Expr* value) const {
  value = value->IgnoreParenCasts();
  if (const auto* choice = dyn_cast<ConditionalOperator>(value)) {
    const bool first = is_data(choice->getTrueExpr()), second = is_data(choice->getFalseExpr());
    const auto is_number = [](const Expr* arm) { return isa<IntegerLiteral>(arm->IgnoreParenCasts()); };
    // Between two numbers it is the thread's own number that chooses.
    return (first && (second || is_number(choice->getFalseExpr()))) ||
           (second && is_number(choice->getTrueExpr()));
  }
  const auto* unary = dyn_cast<UnaryOperator>(value);
  const auto* call = dyn_cast<CallExpr>(value);
  return isa<ArraySubscriptExpr>(value) || (unary && unary->getOpcode() == UO_Deref) ||
         (call && !binary_parts(call) && !view_.returned_expression(call));
}

bool ThreadAnalysis::is_of_interest(const Polynomial& value) const {
  for (const std::string& atom : value.atoms())
    for (const auto& [index, where] : indices_)
      if (is_quotient_of(atom, index))
        return true;
  return value.mentions(thread_) || value.mentions(count_);
}

void ThreadAnalysis::check(const Expr* expression, const Polynomial& value) {
  // A bound on the group that an index is in (row = index / 32) is one on the index.
  for (const std::string& atom : value.atoms())
    for (const auto& [index, where] : indices_)
      if (is_quotient_of(atom, index))
        note_guard(expression, index);
  const bool has_thread = mentions_thread(value), has_count = value.mentions(count_);
  if (!has_thread && !has_count)
    return;
  const Stmt* above = view_.meaningful_parent(expression);
  const SourceLocation location = expression->getBeginLoc();
  if (const auto* declaration = dyn_cast_or_null<DeclStmt>(above)) {
    for (const Decl* declared : declaration->decls()) {
      const auto* variable = dyn_cast<VarDecl>(declared);
      if (!variable || !variable->hasInit() || !view_.within(variable->getInit(), expression))
        continue;
      if (variable->getType()->isPointerType())
        check_address(expression, value, view_.is_on_chip(variable->getInit()), nullptr);
      else if (view_.is_modified(variable) && !has_thread)
        check_halving(variable);
      else if (!view_.is_modified(variable) && !variable->getType()->isIntegralOrEnumerationType() &&
               !variable->getType()->isDependentType() && !variable->getType()->getContainedAutoType())
        refuse(location, (has_thread ? thread_ : count_) + " becomes a value other than an index");
    }
    return;
  }
  if (const auto* binary = dyn_cast_or_null<BinaryOperator>(above)) {
    if (binary->isComparisonOp())
      return check_comparison(binary, expression, value, has_thread);
    if (binary->isCompoundAssignmentOp() || binary->getOpcode() == BO_Assign) {
      const auto* target = dyn_cast<DeclRefExpr>(binary->getLHS()->IgnoreParenImpCasts());
      const bool is_step =
          binary->getRHS()->IgnoreParenCasts() == expression->IgnoreParenCasts() && target && !has_thread;
      if (is_step && binary->getOpcode() == BO_AddAssign)
        return; // a step: checked with its variable
      if (target && binary->getLHS()->IgnoreParenImpCasts() == expression)
        return;
      return refuse(location, (has_thread ? thread_ : count_) + " becomes a value other than an index");
    }
    if (binary->isLogicalOp() || binary->isCommaOp())
      return;
  }
  if (const auto* subscript = dyn_cast_or_null<ArraySubscriptExpr>(above))
    return check_address(expression, value, view_.is_on_chip(subscript->getBase()), subscript);
  if (const auto* unary = dyn_cast_or_null<UnaryOperator>(above)) {
    if (unary->getOpcode() == UO_Deref || unary->getOpcode() == UO_AddrOf)
      return check_address(expression, value, view_.is_on_chip(expression), nullptr);
    if (unary->getOpcode() == UO_LNot)
      return; // !thread: the first one
  }
  if (dyn_cast_or_null<IfStmt>(above) || dyn_cast_or_null<ForStmt>(above) ||
      isa_and_nonnull<CompoundStmt>(above))
    return;
  if (const auto* call = dyn_cast_or_null<CallExpr>(above)) {
    if (!has_thread)
      return; // a bound, a number of rounds, the size of a reduction
    if (view_.is_given(call, expression))
      return; // what the function makes of it is looked at there
    if (expression->getType()->isPointerType() || view_.base_pointer(expression) ||
        view_.is_on_chip(expression))
      return check_address(expression, value, view_.is_on_chip(expression), nullptr);
  }
  refuse(location, (has_thread ? thread_ : count_) +
                       " is used in a way that is not known to be free of the block size");
}

void ThreadAnalysis::note_guard(const Expr* expression, const std::string& atom) {
  const Stmt* above = view_.meaningful_parent(expression);
  if (const auto* binary = dyn_cast_or_null<BinaryOperator>(above); binary && binary->isRelationalOp())
    guarded_.insert(atom);
  else if (const auto* declaration = dyn_cast_or_null<DeclStmt>(above))
    for (const Decl* declared : declaration->decls())
      if (const auto* variable = dyn_cast<VarDecl>(declared))
        for (const DeclRefExpr* use : view_.uses(variable))
          if (const auto* compare = dyn_cast_or_null<BinaryOperator>(view_.meaningful_parent(maximal(use)));
              compare && compare->isRelationalOp())
            guarded_.insert(atom);
}

void ThreadAnalysis::check_comparison(const BinaryOperator* comparison, const Expr* side,
                                      const Polynomial& value, bool has_thread) {
  if (!has_thread)
    return;
  const Expr* other = comparison->getLHS()->IgnoreParenCasts() == side->IgnoreParenCasts()
                          ? comparison->getRHS()
                          : comparison->getLHS();
  const Polynomial against = view_.evaluate(other);
  if (const auto share = share_of(value); share && !share->spread.is_zero()) {
    if (comparison->isRelationalOp()) {
      const std::string atom = "index@" + std::to_string(view_.line(side->getBeginLoc()));
      accept_share(*share, side->getBeginLoc(), atom);
      guarded_.insert(atom);
    }
    return;
  }
  if (const auto constant = against.as_constant()) {
    const auto size = group_size(value);
    const std::int64_t threads = (*constant + (comparison->isEqualityOp() ? 1 : 0)) * size.value_or(1);
    if (threads > 1024 || threads < 0)
      return refuse(side->getBeginLoc(), thread_ + " is compared with " + std::to_string(*constant));
    model_.least = std::max(model_.least, threads);
    if (size)
      note_group(*size);
    return;
  }
  if (against.mentions(count_) || against.mentions(thread_) || halving_.count(against.text()))
    return;
  if (const auto guard = thread_guard(view_, thread_, comparison)) {
    model_.guards.push_back(*guard);
    return;
  }
  // A loop's own counter in a tree reduction: thread < s.
  refuse(side->getBeginLoc(), thread_ + " is compared with a number that does not follow the block size");
}

void ThreadAnalysis::check_address(const Expr* expression, const Polynomial& value, bool on_chip,
                                   const ArraySubscriptExpr* subscript) {
  const SourceLocation location = expression->getBeginLoc();
  if (!mentions_thread(value)) {
    if (on_chip || within_share(value))
      return;
    if (!launcher_varies_)
      return refuse(location, "an address depends on the block size");
    model_.block_in_addresses = true;
    return;
  }
  const auto share = share_of(value);
  if (!value.mentions(count_) && is_guarded(view_, thread_, expression))
    return;
  if (on_chip) {
    if (!share && !group_size(value))
      return refuse(location, "shared memory is addressed by " + thread_ + " in a form that is not known");
    if (const auto size = group_size(value))
      note_group(*size);
    if (subscript)
      check_extent(subscript, value);
    else
      note_dynamic(value);
    return;
  }
  if (share && !share->spread.is_zero()) {
    accept_share(*share, location, "index@" + std::to_string(view_.line(location)));
    return;
  }
  refuse(location, "global memory is addressed by " + thread_ +
                       " alone, so that the block size decides what is covered");
}

void ThreadAnalysis::check_extent(const ArraySubscriptExpr* subscript, const Polynomial& index) {
  const Expr* base = subscript->getBase()->IgnoreParenImpCasts();
  const auto* array = base->getType()->getAsArrayTypeUnsafe();
  if (const auto* constant = dyn_cast_or_null<ConstantArrayType>(array)) {
    for (const Stmt* above = view_.parent(subscript); above; above = view_.parent(above))
      if (const Expr* condition = condition_of(above))
        if (selects_threads(condition))
          return;
    const auto size = group_size(index).value_or(1);
    const auto per_thread = index.quotient_by(size == 1 ? thread_ : group_thread(thread_, size));
    const auto factor = per_thread ? per_thread->as_constant() : std::nullopt;
    if (!factor || *factor < 1)
      return refuse(subscript->getBeginLoc(), "a shared array is indexed in a form that is not known");
    model_.most.push_back(static_cast<std::int64_t>(constant->getSize().getLimitedValue()) / *factor * size);
  } else if (!isa_and_nonnull<DependentSizedArrayType>(array)) {
    note_dynamic(index);
  }
}

void ThreadAnalysis::note_dynamic(const Polynomial& index) {
  model_.dynamic_by_thread = true;
  model_.only_by_group &= group_size(index).has_value();
}

const Expr* ThreadAnalysis::condition_of(const Stmt* statement) {
  if (const auto* branch = dyn_cast<IfStmt>(statement))
    return branch->getCond();
  if (const auto* choice = dyn_cast<ConditionalOperator>(statement))
    return choice->getCond();
  return nullptr;
}

bool ThreadAnalysis::selects_threads(const Expr* condition) {
  bool selects = false;
  view_.visit(condition, [&](const Stmt* statement) {
    if (const auto* binary = dyn_cast<BinaryOperator>(statement); binary && binary->isRelationalOp())
      selects |= mentions_thread(view_.evaluate(binary->getLHS())) ||
                 mentions_thread(view_.evaluate(binary->getRHS()));
  });
  return selects;
}

std::variant<ThreadRefusal, ThreadModel> analyse_threads(KernelView& view, const ThreadAxis& axis,
                                                         bool launcher_varies) {
  return ThreadAnalysis(view, axis, launcher_varies).run();
}

} // namespace lathe::refactor
