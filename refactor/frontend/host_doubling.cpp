// Loops that double a number until it reaches a size.
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"

#include <algorithm>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

bool is_number(const Expr* expression, std::uint64_t number) {
  const auto* literal = dyn_cast<IntegerLiteral>(plain(expression));
  return literal && literal->getValue() == number;
}

// v of v * 2, 2 * v, v << 1 and v + v.
const VarDecl* doubled_in(const Expr* value) {
  const auto* operation = dyn_cast<BinaryOperator>(plain(value));
  if (!operation)
    return nullptr;
  const Expr *left = operation->getLHS(), *right = operation->getRHS();
  switch (operation->getOpcode()) {
  case BO_Mul:
    return is_number(right, 2) ? variable_of(left) : is_number(left, 2) ? variable_of(right) : nullptr;
  case BO_Shl:
    return is_number(right, 1) ? variable_of(left) : nullptr;
  case BO_Add:
    return variable_of(left) == variable_of(right) ? variable_of(left) : nullptr;
  default:
    return nullptr;
  }
}

// v of v *= 2, v <<= 1, v += v and v = v * 2.
const VarDecl* doubled_by(const Expr* change) {
  const auto* assigned = dyn_cast<BinaryOperator>(plain(change));
  if (!assigned)
    return nullptr;
  const VarDecl* variable = variable_of(assigned->getLHS());
  const Expr* value = assigned->getRHS();
  switch (assigned->getOpcode()) {
  case BO_MulAssign:
    return is_number(value, 2) ? variable : nullptr;
  case BO_ShlAssign:
    return is_number(value, 1) ? variable : nullptr;
  case BO_AddAssign:
    return variable_of(value) == variable ? variable : nullptr;
  case BO_Assign:
    return doubled_in(value) == variable ? variable : nullptr;
  default:
    return nullptr;
  }
}

} // namespace

bool HostReader::double_in_loop(const Expr* condition, const Expr* step, const Stmt* body) {
  const Expr* change = only_change(step, body);
  const VarDecl* variable = change ? doubled_by(change) : nullptr;
  const auto* compared = condition ? dyn_cast<BinaryOperator>(plain(condition)) : nullptr;
  if (!variable || !compared || !compared->isRelationalOp())
    return false;
  const bool is_left = variable_of(compared->getLHS()) == variable;
  const BinaryOperatorKind kind =
      is_left ? compared->getOpcode() : BinaryOperator::reverseComparisonOp(compared->getOpcode());
  const Expr* limit = is_left ? compared->getRHS() : compared->getLHS();
  if ((kind != BO_LT && kind != BO_LE) ||
      variable_of(is_left ? compared->getLHS() : compared->getRHS()) != variable ||
      names_variable(limit, variable))
    return false;
  const HostValue first = evaluate(is_left ? compared->getLHS() : compared->getRHS()), size = evaluate(limit);
  if (!first.is_integer() || first.text.find_first_not_of("0123456789") != std::string::npos ||
      first.text == "0" || !follows_size(size))
    return false;
  // It is doubled once for each power of two between it and the last number that is still too small.
  const HostValue one = HostValue::integer("1"), last = kind == BO_LT ? combine(BO_Sub, size, one) : size;
  const HostValue times = combine(BO_Add, call("floor_log2", {combine(BO_Div, last, first)}), one);
  assign(
      is_left ? compared->getLHS() : compared->getRHS(),
      choose(combine(kind == BO_LT ? BO_LE : BO_LT, size, first), first, combine(BO_Shl, first, times), ""));
  return true;
}

} // namespace lathe::refactor
