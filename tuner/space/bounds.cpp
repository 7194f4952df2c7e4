#include "tuner/space/bounds.h"

#include <algorithm>

namespace lathe::space {

int Bounds::level_of(TermId id) {
  while (level_of_.size() < pool_.size()) { // terms made here have only operators, no new variables
    const Term& term = pool_[static_cast<TermId>(level_of_.size())];
    int level = -1;
    for (const TermId operand : {term.a, term.b, term.c})
      if (operand != no_term)
        level = std::max(level, level_of_[static_cast<std::size_t>(operand)]);
    level_of_.push_back(level);
  }
  return level_of_[static_cast<std::size_t>(id)];
}

TermId Bounds::bound(TermId id, int level, bool upper) {
  const Term term = pool_[id];
  // A term that may fail has a range only where it does not: a bound made of it might fail where the whole
  // does not.
  if (known(id, level) && !term.may_fail)
    return id;
  if (!term.may_fail && term.kind == Kind::integer)
    if (const std::optional<TermId> found = bound_operation(term, level, upper);
        found && !pool_[*found].may_fail)
      return *found;
  return pool_.constant(upper ? term.high : term.low);
}

std::optional<TermId> Bounds::bound_operation(const Term& term, int level, bool upper) {
  if (term.a == no_term || term.b == no_term)
    return std::nullopt;
  const Term a = pool_[term.a];
  const Term b = pool_[term.b];
  switch (term.op) {
  case Op::add:
  case Op::minimum:
  case Op::maximum:
    return pool_.apply(term.op, bound(term.a, level, upper), bound(term.b, level, upper));
  case Op::subtract:
    return pool_.apply(Op::subtract, bound(term.a, level, upper), bound(term.b, level, !upper));
  case Op::multiply:
    if (a.low < 0 || b.low < 0)
      return std::nullopt;
    return pool_.apply(Op::multiply, bound(term.a, level, upper), bound(term.b, level, upper));
  case Op::divide:
  case Op::divide_floor:
  case Op::ceil_div: {
    if (a.low < 0 || b.low <= 0)
      return std::nullopt;
    const TermId divisor = bound(term.b, level, !upper);
    return pool_.apply(term.op, bound(term.a, level, upper), divisor);
  }
  case Op::modulo:
  case Op::modulo_floor:
    if (a.low < 0 || b.low <= 0)
      return std::nullopt;
    if (!upper)
      return pool_.constant(0);
    return pool_.apply(Op::minimum, bound(term.a, level, true),
                       pool_.apply(Op::subtract, bound(term.b, level, true), pool_.constant(1)));
  default:
    return std::nullopt;
  }
}

TermId Bounds::possible(TermId id, int level) {
  if (known(id, level))
    return id;
  const Term term = pool_[id];
  switch (term.op) {
  case Op::logical_and:
  case Op::logical_or: {
    const TermId left = possible(term.a, level);
    return pool_.apply(term.op, left, possible(term.b, level));
  }
  case Op::choose: {
    if (term.kind != Kind::integer || term.low < 0 || term.high > 1)
      return always();
    const TermId if_true = possible(term.b, level);
    const TermId if_false = possible(term.c, level);
    if (known(term.a, level))
      return pool_.apply(Op::choose, term.a, if_true, if_false);
    // Only one of the two will be evaluated: the failure of the other would say nothing.
    if (pool_[if_true].may_fail || pool_[if_false].may_fail)
      return always();
    return pool_.apply(Op::logical_or, if_true, if_false);
  }
  case Op::less:
  case Op::less_equal:
    return term.bits != 0 ? always() : possible_order(term, level);
  case Op::equal:
    return term.bits != 0 ? always() : possible_equality(term, level);
  default:
    return always();
  }
}

TermId Bounds::possible_order(const Term& term, int level) {
  if (pool_[term.a].kind != Kind::integer)
    return always();
  return pool_.apply(term.op, bound(term.a, level, false), bound(term.b, level, true));
}

TermId Bounds::possible_equality(const Term& term, int level) {
  if (pool_[term.a].kind != Kind::integer || pool_[term.b].kind != Kind::integer)
    return always();
  TermId result = both(pool_.apply(Op::less_equal, bound(term.a, level, false), bound(term.b, level, true)),
                       pool_.apply(Op::less_equal, bound(term.b, level, false), bound(term.a, level, true)));
  for (const auto& [side, other] : {std::pair{term.a, term.b}, std::pair{term.b, term.a}}) {
    const Term left = pool_[side];
    const bool remainder = left.op == Op::modulo || left.op == Op::modulo_floor;
    if (remainder && pool_.is_constant(other) && pool_[other].bits == 0)
      result = both(result, possible_division(left.a, left.b, level));
    // x * y == z: every factor divides z. (A factor that fails would say nothing: another one may be zero.)
    if (left.op == Op::multiply && known(other, level))
      if (const std::optional<TermId> factor = known_factor(side, level);
          factor && pool_[*factor].low > 0 && !pool_[*factor].may_fail)
        result =
            both(result, pool_.apply(Op::equal, pool_.apply(Op::modulo, other, *factor), pool_.constant(0)));
  }
  return result;
}

// dividend % divisor == 0: the dividend is a multiple of every factor of the divisor, and at least as large.
TermId Bounds::possible_division(TermId dividend, TermId divisor, int level) {
  TermId result = always();
  if (known(dividend, level))
    if (const std::optional<TermId> factor = known_factor(divisor, level))
      result = pool_.apply(Op::equal, pool_.apply(Op::modulo, dividend, *factor), pool_.constant(0));
  if (pool_[dividend].low > 0 && pool_[divisor].low > 0)
    result =
        both(result, pool_.apply(Op::less_equal, bound(divisor, level, false), bound(dividend, level, true)));
  return result;
}

std::optional<TermId> Bounds::known_factor(TermId id, int level) {
  if (known(id, level))
    return id;
  const Term term = pool_[id];
  if (term.op != Op::multiply)
    return std::nullopt;
  const std::optional<TermId> left = known_factor(term.a, level);
  const std::optional<TermId> right = known_factor(term.b, level);
  if (left && right)
    return pool_.apply(Op::multiply, *left, *right);
  return left ? left : right;
}

} // namespace lathe::space
