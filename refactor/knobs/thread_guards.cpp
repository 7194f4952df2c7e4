#include "refactor/knobs/thread_guards.h"

#include "refactor/knobs/strided_loop.h"

#include <clang/AST/Stmt.h>

namespace lathe::refactor {

using namespace clang;

namespace {

// The comparison as one of the thread's number with something.
BinaryOperatorKind from_threads_side(const BinaryOperator* comparison, bool is_left) {
  return is_left ? comparison->getOpcode() : BinaryOperator::reverseComparisonOp(comparison->getOpcode());
}

bool keeps_below(const KernelView& view, const std::string& thread, const Expr* condition) {
  const auto* binary = dyn_cast<BinaryOperator>(condition->IgnoreParenImpCasts());
  if (!binary)
    return false;
  if (binary->getOpcode() == BO_LAnd)
    return keeps_below(view, thread, binary->getLHS()) || keeps_below(view, thread, binary->getRHS());
  if (!binary->isComparisonOp() || !thread_guard(view, thread, binary))
    return false;
  const BinaryOperatorKind operation =
      from_threads_side(binary, view.evaluate(binary->getLHS()).mentions(thread));
  return operation == BO_LT || operation == BO_LE || operation == BO_EQ;
}

} // namespace

std::string group_thread(const std::string& thread, std::int64_t size) {
  return "(" + thread + "/" + std::to_string(size) + ")";
}

std::optional<std::int64_t> group_size(const Polynomial& value, const std::string& thread) {
  for (const std::string& atom : value.atoms()) {
    const std::string prefix = "(" + thread + "/";
    if (atom.rfind(prefix, 0) == 0 && atom.find_first_not_of("0123456789", prefix.size()) == atom.size() - 1)
      return std::stoll(atom.substr(prefix.size()));
  }
  return std::nullopt;
}

std::optional<ThreadGuard> thread_guard(const KernelView& view, const std::string& thread,
                                        const BinaryOperator* comparison) {
  const bool is_left = view.evaluate(comparison->getLHS()).mentions(thread);
  const Expr* number = is_left ? comparison->getLHS() : comparison->getRHS();
  const Expr* limit = is_left ? comparison->getRHS() : comparison->getLHS();
  const Polynomial value = view.evaluate(number), bound = view.evaluate(limit);
  const std::int64_t group = group_size(value, thread).value_or(1);
  if (value != Polynomial::atom(group == 1 ? thread : group_thread(thread, group)) ||
      !is_stable(view, bound) || bound.mentions("Idx.") || bound.mentions("Dim."))
    return std::nullopt;
  const BinaryOperatorKind operation = from_threads_side(comparison, is_left);
  return ThreadGuard{limit, operation == BO_LT || operation == BO_GE ? 0 : 1, group};
}

bool is_guarded(const KernelView& view, const std::string& thread, const Stmt* statement) {
  const Stmt* child = statement;
  for (const Stmt* above = view.parent(child); above; child = above, above = view.parent(above)) {
    const Expr* condition = nullptr;
    if (const auto* branch = dyn_cast<IfStmt>(above); branch && child == branch->getThen())
      condition = branch->getCond();
    else if (const auto* choice = dyn_cast<ConditionalOperator>(above);
             choice && child == choice->getTrueExpr())
      condition = choice->getCond();
    else if (const auto* both = dyn_cast<BinaryOperator>(above);
             both && both->getOpcode() == BO_LAnd && child == both->getRHS())
      condition = both->getLHS();
    if (condition && keeps_below(view, thread, condition))
      return true;
  }
  return false;
}

} // namespace lathe::refactor
