#include "tuner/space/term.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace lathe::space {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

struct Range {
  Wide low, high;
};

Range corners(const Term& a, const Term& b, Wide (*function)(Wide, Wide)) {
  const Wide values[] = {function(a.low, b.low), function(a.low, b.high), function(a.high, b.low),
                         function(a.high, b.high)};
  return {*std::min_element(std::begin(values), std::end(values)),
          *std::max_element(std::begin(values), std::end(values))};
}

Wide magnitude(const Term& term) {
  const Wide low = term.low < 0 ? -Wide{term.low} : Wide{term.low};
  const Wide high = term.high < 0 ? -Wide{term.high} : Wide{term.high};
  return std::max(low, high);
}

// The smallest 2^k - 1 that covers a non-negative value.
std::int64_t all_ones(std::int64_t value) {
  return static_cast<std::int64_t>(
      value <= 0 ? 0 : ~std::uint64_t{0} >> std::countl_zero(static_cast<std::uint64_t>(value)));
}

} // namespace

std::size_t TermPool::Hash::operator()(const Term& term) const {
  std::uint64_t hash = static_cast<std::uint64_t>(term.op) << 8 | static_cast<std::uint64_t>(term.kind);
  for (const std::uint64_t part : {static_cast<std::uint64_t>(term.a), static_cast<std::uint64_t>(term.b),
                                   static_cast<std::uint64_t>(term.c), static_cast<std::uint64_t>(term.bits)})
    hash = std::rotl((hash ^ part) * 0x9e3779b97f4a7c15u, 29);
  return hash;
}

TermId TermPool::intern(Term term) {
  const auto [entry, inserted] = known_.try_emplace(term, static_cast<TermId>(terms_.size()));
  if (inserted)
    terms_.push_back(term);
  return entry->second;
}

TermId TermPool::constant(std::int64_t value) {
  Term term;
  term.bits = term.low = term.high = value;
  return intern(term);
}

TermId TermPool::real(double value) {
  Term term;
  term.kind = Kind::real;
  term.bits = std::bit_cast<std::int64_t>(value);
  return intern(term);
}

TermId TermPool::text(std::int64_t rank) {
  Term term;
  term.kind = Kind::text;
  term.bits = rank;
  return intern(term);
}

TermId TermPool::fail() {
  Term term;
  term.op = Op::fail;
  term.may_fail = true;
  term.high = 1; // any use of it fails, too
  return intern(term);
}

TermId TermPool::variable(std::int32_t parameter) {
  const Domain& domain = model_->domains[static_cast<std::size_t>(parameter)];
  if (domain.bits.size() == 1 && domain.kind != Kind::mixed) {
    Term term;
    term.kind = domain.kind;
    term.bits = domain.bits[0];
    if (domain.kind == Kind::integer)
      term.low = term.high = term.bits;
    return intern(term);
  }
  Term term;
  term.op = Op::variable;
  term.kind = domain.kind;
  term.bits = parameter;
  if (domain.kind == Kind::integer) {
    const auto [low, high] = std::minmax_element(domain.bits.begin(), domain.bits.end());
    term.low = *low;
    term.high = *high;
  }
  return intern(term);
}

TermId TermPool::add_generic(Generic generic) {
  Term term;
  term.op = Op::generic;
  term.may_fail = true;
  term.high = 1;
  term.bits = static_cast<std::int64_t>(generics_.size());
  generics_.push_back(std::move(generic));
  return intern(term);
}

TermId TermPool::truth(TermId id) {
  const Term term = (*this)[id];
  if (term.op == Op::fail)
    return id;
  if (term.kind == Kind::real)
    return apply(Op::not_equal, id, real(0));
  if (term.low >= 0 && term.high <= 1)
    return id;
  return apply(Op::not_equal, id, constant(0));
}

// Pushed inwards, so that ranges can be used below a negation. De Morgan holds with failures, too: both sides
// stop at the same operand.
TermId TermPool::negation(TermId id) {
  const Term term = (*this)[id];
  switch (term.op) {
  case Op::fail:
    return id;
  case Op::less:
    return apply(Op::less_equal, term.b, term.a);
  case Op::less_equal:
    return apply(Op::less, term.b, term.a);
  case Op::equal:
    return apply(Op::not_equal, term.a, term.b);
  case Op::not_equal:
    return apply(Op::equal, term.a, term.b);
  case Op::logical_and:
  case Op::logical_or: {
    const TermId left = negation(term.a);
    const TermId right = negation(term.b);
    return apply(term.op == Op::logical_and ? Op::logical_or : Op::logical_and, left, right);
  }
  default:
    return apply(Op::equal, id, constant(0));
  }
}

TermId TermPool::simplified(Op op, TermId a, TermId b, TermId c) {
  const bool fails = (*this)[a].op == Op::fail;
  switch (op) {
  case Op::logical_and:
  case Op::logical_or: {
    const std::int64_t decided = op == Op::logical_or ? 1 : 0;
    if (fails)
      return a;
    if (is_constant(a))
      return (*this)[a].bits == decided ? a : b;
    if (is_constant(b) && ((*this)[b].bits != decided || !(*this)[a].may_fail))
      return (*this)[b].bits == decided ? b : a;
    return a == b ? a : no_term;
  }
  case Op::choose:
    if (fails)
      return a;
    if (is_constant(a))
      return (*this)[a].bits != 0 ? b : c;
    return b == c && !(*this)[a].may_fail ? b : no_term;
  default:
    if (fails || (b != no_term && (*this)[b].op == Op::fail))
      return fail();
    return no_term;
  }
}

TermId TermPool::apply(Op op, TermId a, TermId b, TermId c) {
  if (const TermId known = simplified(op, a, b, c); known != no_term)
    return known;
  Term term;
  term.op = op;
  term.a = a;
  term.b = b;
  term.c = c;
  const Kind operands = (*this)[a].kind;
  switch (op) {
  case Op::less:
  case Op::less_equal:
  case Op::equal:
  case Op::not_equal:
    term.bits = operands == Kind::real ? 1 : 0; // evaluate_lanes reads it
    break;
  case Op::choose:
    term.kind = (*this)[b].kind;
    break;
  case Op::to_real:
    term.kind = Kind::real;
    break;
  case Op::truncate:
  case Op::floor:
  case Op::ceil:
    break;
  default:
    term.kind = operands;
  }
  set_range(term);
  const bool foldable =
      is_constant(a) && (b == no_term || is_constant(b)) && (c == no_term || is_constant(c));
  if (foldable) {
    const auto operand = [&](TermId id) {
      return id == no_term ? Lanes{} : Lanes{&terms_[static_cast<std::size_t>(id)].bits, nullptr, false};
    };
    std::int64_t value = 0;
    std::uint8_t failed = 0;
    evaluate_lanes(term, operand(a), operand(b), operand(c), 1, &value, &failed);
    if (term.may_fail && failed != 0)
      return fail();
    if (term.kind == Kind::integer)
      return constant(value);
    Term folded;
    folded.kind = term.kind;
    folded.bits = value;
    return intern(folded);
  }
  if (!term.may_fail && term.kind == Kind::integer && term.low == term.high)
    return constant(term.low);
  return intern(term);
}

void TermPool::set_range(Term& term) const {
  const Term none;
  const Term& a = (*this)[term.a];
  const Term& b = term.b == no_term ? none : (*this)[term.b];
  const bool operands_fail = a.may_fail || (term.b != no_term && b.may_fail);
  const bool integers = a.kind == Kind::integer && (term.b == no_term || b.kind == Kind::integer);
  Range range{lowest, highest};
  bool fails = false;
  switch (term.op) {
  case Op::add:
    range = {Wide{a.low} + b.low, Wide{a.high} + b.high};
    break;
  case Op::subtract:
    range = {Wide{a.low} - b.high, Wide{a.high} - b.low};
    break;
  case Op::multiply:
    range = corners(a, b, [](Wide x, Wide y) { return x * y; });
    break;
  case Op::divide:
  case Op::divide_floor:
  case Op::ceil_div:
    fails = (b.low <= 0 && b.high >= 0) || (a.low == lowest && b.low <= -1 && b.high >= -1);
    if (b.low > 0) {
      // One more on both sides covers every way of rounding.
      range = corners(a, b, [](Wide x, Wide y) { return x / y; });
      if (term.op == Op::divide_floor && a.low < 0)
        range.low -= 1;
      if (term.op == Op::ceil_div && a.high > 0)
        range.high += 1;
    } else {
      range = {-magnitude(a) - 1, magnitude(a) + 1};
    }
    break;
  case Op::modulo:
    fails = b.low <= 0 && b.high >= 0;
    range = {a.low < 0 ? -std::min(magnitude(a), magnitude(b)) : Wide{0},
             a.high > 0 ? std::min(magnitude(a), magnitude(b)) : Wide{0}};
    break;
  case Op::modulo_floor:
    fails = b.low <= 0 && b.high >= 0;
    range = {b.low < 0 ? Wide{b.low} : Wide{0}, b.high > 0 ? Wide{b.high} : Wide{0}};
    break;
  case Op::bit_and:
    if (a.low >= 0 && b.low >= 0)
      range = {0, std::min(a.high, b.high)};
    break;
  case Op::bit_or:
  case Op::bit_xor:
    if (a.low >= 0 && b.low >= 0)
      range = {0, all_ones(std::max(a.high, b.high))};
    break;
  case Op::shift_left:
    fails = true;
    if (a.low >= 0)
      range.low = 0;
    if (a.low >= 0 && b.low >= 0 && b.high < 62 && a.high < std::int64_t{1} << (62 - b.high)) {
      fails = false;
      range = {a.low << b.low, a.high << b.high};
    }
    break;
  case Op::shift_right:
    fails = b.low < 0 || b.high > 63;
    range = {std::min<Wide>(a.low, 0), std::max<Wide>(a.high, 0)};
    break;
  case Op::power:
    fails = true;
    if (a.low >= 0)
      range.low = 0;
    break;
  case Op::minimum:
    range = {std::min(a.low, b.low), std::min(a.high, b.high)};
    break;
  case Op::maximum:
    range = {std::max(a.low, b.low), std::max(a.high, b.high)};
    break;
  case Op::absolute:
    fails = a.low == lowest;
    range = {0, magnitude(a)};
    break;
  case Op::gcd:
    fails = a.low == lowest || b.low == lowest;
    range = {0, std::max(magnitude(a), magnitude(b))};
    break;
  case Op::floor_log2:
    fails = a.low <= 0;
    range = {0, 63};
    break;
  case Op::log2:
    fails = true;
    range = {0, 63};
    break;
  case Op::less:
  case Op::less_equal:
  case Op::equal:
  case Op::not_equal: {
    range = {0, 1};
    if (integers) {
      const bool below = a.high < b.low;
      const bool above = a.low > b.high;
      const bool same = a.low == a.high && b.low == b.high && a.low == b.low;
      const bool negated = term.op == Op::not_equal;
      bool always = false;
      bool never = false;
      if (term.op == Op::less) {
        always = below;
        never = a.low >= b.high;
      } else if (term.op == Op::less_equal) {
        always = a.high <= b.low;
        never = above;
      } else {
        always = negated ? below || above : same;
        never = negated ? same : below || above;
      }
      range = {always ? 1 : 0, never ? 0 : 1};
    }
    break;
  }
  case Op::is_pow2:
    range = {0, 1};
    break;
  case Op::logical_and:
    range = {a.low & b.low, a.high & b.high};
    break;
  case Op::logical_or:
    range = {a.low | b.low, a.high | b.high};
    break;
  case Op::choose: {
    const Term& c = (*this)[term.c];
    range = {std::min(b.low, c.low), std::max(b.high, c.high)};
    term.may_fail = operands_fail || c.may_fail;
    break;
  }
  case Op::truncate:
  case Op::floor:
  case Op::ceil:
    fails = true;
    break;
  default:
    break;
  }
  const bool total_real = term.op == Op::to_real || term.op == Op::choose;
  if (term.kind == Kind::real)
    fails = fails || !total_real;
  else
    fails = fails || range.low < lowest || range.high > highest;
  term.may_fail = term.may_fail || fails || operands_fail;
  if (term.kind == Kind::integer) {
    // What does not fail fits.
    term.low = static_cast<std::int64_t>(std::clamp<Wide>(range.low, lowest, highest));
    term.high = static_cast<std::int64_t>(std::clamp<Wide>(range.high, lowest, highest));
  }
}

std::vector<std::int32_t> TermPool::parameters_of(TermId id) const {
  std::vector<std::int32_t> found;
  std::vector<TermId> open{id};
  std::vector<TermId> seen;
  while (!open.empty()) {
    const TermId next = open.back();
    open.pop_back();
    if (next == no_term || std::find(seen.begin(), seen.end(), next) != seen.end())
      continue;
    seen.push_back(next);
    const Term& term = (*this)[next];
    if (term.op == Op::variable)
      found.push_back(static_cast<std::int32_t>(term.bits));
    else if (term.op == Op::generic)
      found.insert(found.end(), generic(term).parameters.begin(), generic(term).parameters.end());
    open.insert(open.end(), {term.a, term.b, term.c});
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Value TermPool::value_of(std::int32_t parameter, std::int64_t bits) const {
  switch (model_->domains[static_cast<std::size_t>(parameter)].kind) {
  case Kind::integer:
    return bits;
  case Kind::real:
    return std::bit_cast<double>(bits);
  case Kind::text:
    return model_->texts[static_cast<std::size_t>(bits)];
  default:
    return model_->parameters[static_cast<std::size_t>(parameter)].values[static_cast<std::size_t>(bits)];
  }
}

} // namespace lathe::space
