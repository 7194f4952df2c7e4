#include "tuner/space/reorder.h"

#include <algorithm>
#include <cmath>

namespace lathe::space {
namespace {

bool is_associative(Op op) {
  return op == Op::add || op == Op::multiply || op == Op::minimum || op == Op::maximum ||
         op == Op::logical_and || op == Op::logical_or || op == Op::bit_and || op == Op::bit_or ||
         op == Op::bit_xor;
}

} // namespace

int Reorder::level_of(TermId id) {
  if (const auto known = levels_.find(id); known != levels_.end())
    return known->second;
  const Term term = pool_[id];
  int level = -1;
  if (term.op == Op::variable)
    level = position_of_parameter_[static_cast<std::size_t>(term.bits)];
  else if (term.op == Op::generic)
    for (const std::int32_t parameter : pool_.generic(term).parameters)
      level = std::max(level, position_of_parameter_[static_cast<std::size_t>(parameter)]);
  for (const TermId operand : {term.a, term.b, term.c})
    if (operand != no_term)
      level = std::max(level, level_of(operand));
  return levels_[id] = level;
}

void Reorder::collect(TermId id, Op op, std::vector<TermId>& operands) const {
  const Term& term = pool_[id];
  if (term.op != op || term.kind != Kind::integer)
    return operands.push_back(id);
  collect(term.a, op, operands);
  collect(term.b, op, operands);
}

// Every partial result in every order stays within 64 bits.
bool Reorder::fits(Op op, const std::vector<TermId>& operands) const {
  long double total = op == Op::multiply ? 1 : 0;
  for (const TermId operand : operands) {
    const Term& term = pool_[operand];
    if (term.may_fail || term.kind != Kind::integer)
      return false;
    const long double size =
        std::max(std::abs(static_cast<long double>(term.low)), std::abs(static_cast<long double>(term.high)));
    total = op == Op::multiply ? total * std::max(size, 1.0L) : total + size;
  }
  return (op != Op::add && op != Op::multiply) || total < 9e18L;
}

TermId Reorder::operator()(TermId id) {
  if (const auto known = done_.find(id); known != done_.end())
    return known->second;
  const Term term = pool_[id];
  TermId result = id;
  if (is_associative(term.op) && term.kind == Kind::integer) {
    std::vector<TermId> operands;
    collect(id, term.op, operands);
    const bool free = fits(term.op, operands);
    if (operands.size() > 2 && free) {
      for (TermId& operand : operands)
        operand = (*this)(operand);
      std::stable_sort(operands.begin(), operands.end(),
                       [&](TermId a, TermId b) { return level_of(a) < level_of(b); });
      result = operands[0];
      for (std::size_t i = 1; i < operands.size(); ++i)
        result = pool_.apply(term.op, result, operands[i]);
      return done_[id] = result;
    }
  }
  if (term.a != no_term) {
    const TermId a = (*this)(term.a);
    const TermId b = term.b == no_term ? no_term : (*this)(term.b);
    const TermId c = term.c == no_term ? no_term : (*this)(term.c);
    if (a != term.a || b != term.b || c != term.c)
      result = pool_.apply(term.op, a, b, c);
  }
  return done_[id] = result;
}

} // namespace lathe::space
