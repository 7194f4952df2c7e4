// Evaluation of one operator over many lanes. The meaning is that of tuner/expression, with failures as
// flags.
#include "tuner/space/term.h"

#include <bit>
#include <cmath>
#include <numeric>

namespace lathe::space {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();

double as_real(std::int64_t bits) {
  return std::bit_cast<double>(bits);
}
std::int64_t as_bits(double real) {
  return std::bit_cast<std::int64_t>(real);
}

template <bool a_varies, bool b_varies, class Function>
void loop(const Lanes& a, const Lanes& b, std::size_t count, Function function) {
  for (std::size_t i = 0; i < count; ++i)
    function(i, a.values[a_varies ? i : 0], b.values[b_varies ? i : 0]);
}

// Calls function(lane, a, b), with the broadcast operands hoisted.
template <class Function>
void for_lanes(const Lanes& a, const Lanes& b, std::size_t count, Function function) {
  if (a.varies && b.varies)
    loop<true, true>(a, b, count, function);
  else if (a.varies)
    loop<true, false>(a, b, count, function);
  else
    loop<false, true>(a, b, count, function);
}

bool has_failed(const Lanes& lanes, std::size_t i) {
  return lanes.failed != nullptr && lanes.failed[lanes.varies ? i : 0] != 0;
}

struct Evaluation {
  const Lanes& a;
  const Lanes& b;
  std::size_t count;
  std::int64_t* values;
  std::uint8_t* failed; // null: cannot fail

  // function(x, y): always has a value.
  template <class Function> void total(Function function) const {
    for_lanes(a, b, count,
              [&](std::size_t i, std::int64_t x, std::int64_t y) { values[i] = function(x, y); });
    clear_failed();
  }

  // function(x, y, result) is false when there is no value.
  template <class Function> void partial(Function function) const {
    if (failed == nullptr) { // the ranges of the operands exclude a failure
      for_lanes(a, b, count, [&](std::size_t i, std::int64_t x, std::int64_t y) {
        std::int64_t result = 0;
        function(x, y, result);
        values[i] = result;
      });
      return;
    }
    for_lanes(a, b, count, [&](std::size_t i, std::int64_t x, std::int64_t y) {
      std::int64_t result = 0;
      const bool fine = function(x, y, result);
      failed[i] |= fine ? 0 : 1;
      values[i] = result;
    });
    clear_failed();
  }

  template <class Function> void real(Function function) const {
    partial([&](std::int64_t x, std::int64_t y, std::int64_t& result) {
      const double value = function(as_real(x), as_real(y));
      result = as_bits(value);
      return std::isfinite(value);
    });
  }

  template <class Function> void rounded(Function function) const {
    partial([&](std::int64_t x, std::int64_t, std::int64_t& result) {
      const double value = function(as_real(x));
      if (!(std::abs(value) < 9.2e18))
        return false;
      result = static_cast<std::int64_t>(value);
      return true;
    });
  }

  void clear_failed() const {
    if (failed == nullptr)
      return;
    for (std::size_t i = 0; i < count; ++i)
      values[i] = failed[i] != 0 ? 0 : values[i];
  }
};

bool power(std::int64_t base, std::int64_t exponent, std::int64_t& result) {
  result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result))
      return false;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
      return false;
  }
  return true;
}

bool divide(std::int64_t x, std::int64_t y, std::int64_t& result) {
  if (y == 0 || (x == lowest && y == -1))
    return false;
  result = x / y;
  return true;
}

bool divide_floor(std::int64_t x, std::int64_t y, std::int64_t& result) {
  if (!divide(x, y, result))
    return false;
  if (result * y != x && (x < 0) != (y < 0))
    --result;
  return true;
}

bool modulo(std::int64_t x, std::int64_t y, std::int64_t& result) {
  if (y == 0)
    return false;
  result = y == -1 ? 0 : x % y;
  return true;
}

bool modulo_floor(std::int64_t x, std::int64_t y, std::int64_t& result) {
  if (!modulo(x, y, result))
    return false;
  if (result != 0 && (result < 0) != (y < 0))
    result += y;
  return true;
}

bool ceil_div(std::int64_t x, std::int64_t y, std::int64_t& result) {
  if (!divide(x, y, result))
    return false;
  if (result * y != x && (x < 0) == (y < 0))
    ++result;
  return true;
}

bool shift_left(std::int64_t x, std::int64_t y, std::int64_t& result) {
  if (y < 0 || y > 63)
    return false;
  result = static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << y);
  return result >> y == x;
}

bool shift_right(std::int64_t x, std::int64_t y, std::int64_t& result) {
  if (y < 0 || y > 63)
    return false;
  result = x >> y;
  return true;
}

bool gcd(std::int64_t x, std::int64_t y, std::int64_t& result) {
  if (x == lowest || y == lowest)
    return false;
  result = std::gcd(x, y);
  return true;
}

bool log2_exact(std::int64_t x, std::int64_t& result) {
  if (x <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(x)))
    return false;
  result = std::countr_zero(static_cast<std::uint64_t>(x));
  return true;
}

bool floor_log2(std::int64_t x, std::int64_t& result) {
  if (x <= 0)
    return false;
  result = 63 - std::countl_zero(static_cast<std::uint64_t>(x));
  return true;
}

double floored_remainder(double x, double y) {
  double remainder = std::fmod(x, y);
  if (remainder != 0 && (remainder < 0) != (y < 0))
    remainder += y;
  return remainder;
}

// A zero divisor gives no finite number, which the caller takes for a failure, as it should.
void evaluate_real(Op op, const Evaluation& lanes) {
  switch (op) {
  case Op::add:
    return lanes.real([](double x, double y) { return x + y; });
  case Op::subtract:
    return lanes.real([](double x, double y) { return x - y; });
  case Op::multiply:
    return lanes.real([](double x, double y) { return x * y; });
  case Op::divide:
    return lanes.real([](double x, double y) { return x / y; });
  case Op::divide_floor:
    return lanes.real([](double x, double y) { return std::floor(x / y); });
  case Op::modulo:
    return lanes.real([](double x, double y) { return std::fmod(x, y); });
  case Op::modulo_floor:
    return lanes.real([](double x, double y) { return floored_remainder(x, y); });
  case Op::power:
    return lanes.real([](double x, double y) { return std::pow(x, y); });
  case Op::minimum:
    return lanes.real([](double x, double y) { return y < x ? y : x; });
  case Op::maximum:
    return lanes.real([](double x, double y) { return x < y ? y : x; });
  default: // absolute
    return lanes.real([](double x, double) { return std::abs(x); });
  }
}

void compare_real(Op op, const Evaluation& lanes) {
  switch (op) {
  case Op::less:
    return lanes.total([](auto x, auto y) { return std::int64_t{as_real(x) < as_real(y)}; });
  case Op::less_equal:
    return lanes.total([](auto x, auto y) { return std::int64_t{as_real(x) <= as_real(y)}; });
  case Op::equal:
    return lanes.total([](auto x, auto y) { return std::int64_t{as_real(x) == as_real(y)}; });
  default:
    return lanes.total([](auto x, auto y) { return std::int64_t{as_real(x) != as_real(y)}; });
  }
}

void evaluate_integer(Op op, const Evaluation& lanes) {
  switch (op) {
  case Op::add:
    return lanes.partial([](auto x, auto y, auto& r) { return !__builtin_add_overflow(x, y, &r); });
  case Op::subtract:
    return lanes.partial([](auto x, auto y, auto& r) { return !__builtin_sub_overflow(x, y, &r); });
  case Op::multiply:
    return lanes.partial([](auto x, auto y, auto& r) { return !__builtin_mul_overflow(x, y, &r); });
  case Op::divide:
    return lanes.partial(divide);
  case Op::divide_floor:
    return lanes.partial(divide_floor);
  case Op::modulo:
    return lanes.partial(modulo);
  case Op::modulo_floor:
    return lanes.partial(modulo_floor);
  case Op::power:
    return lanes.partial(power);
  case Op::bit_and:
    return lanes.total([](auto x, auto y) { return x & y; });
  case Op::bit_or:
    return lanes.total([](auto x, auto y) { return x | y; });
  case Op::bit_xor:
    return lanes.total([](auto x, auto y) { return x ^ y; });
  case Op::shift_left:
    return lanes.partial(shift_left);
  case Op::shift_right:
    return lanes.partial(shift_right);
  case Op::bit_not:
    return lanes.total([](auto x, auto) { return ~x; });
  case Op::less:
    return lanes.total([](auto x, auto y) { return std::int64_t{x < y}; });
  case Op::less_equal:
    return lanes.total([](auto x, auto y) { return std::int64_t{x <= y}; });
  case Op::equal:
    return lanes.total([](auto x, auto y) { return std::int64_t{x == y}; });
  case Op::not_equal:
    return lanes.total([](auto x, auto y) { return std::int64_t{x != y}; });
  case Op::minimum:
    return lanes.total([](auto x, auto y) { return y < x ? y : x; });
  case Op::maximum:
    return lanes.total([](auto x, auto y) { return x < y ? y : x; });
  case Op::absolute:
    return lanes.partial([](auto x, auto, auto& r) {
      r = x == lowest ? 0 : std::abs(x);
      return x != lowest;
    });
  case Op::ceil_div:
    return lanes.partial(ceil_div);
  case Op::gcd:
    return lanes.partial(gcd);
  case Op::log2:
    return lanes.partial([](auto x, auto, auto& r) { return log2_exact(x, r); });
  case Op::floor_log2:
    return lanes.partial([](auto x, auto, auto& r) { return floor_log2(x, r); });
  case Op::is_pow2:
    return lanes.total([](auto x, auto) {
      return std::int64_t{x > 0 && std::has_single_bit(static_cast<std::uint64_t>(x))};
    });
  default: // to_real
    return lanes.total([](auto x, auto) { return as_bits(static_cast<double>(x)); });
  }
}

bool is_comparison(Op op) {
  return op == Op::less || op == Op::less_equal || op == Op::equal || op == Op::not_equal;
}

// `decided` is the left value that makes the right side irrelevant.
void evaluate_logical(std::int64_t decided, const Evaluation& lanes) {
  for (std::size_t i = 0; i < lanes.count; ++i) {
    const bool left_failed = has_failed(lanes.a, i);
    const std::int64_t left = lanes.a.values[lanes.a.varies ? i : 0];
    const bool use_left = left_failed || left == decided;
    lanes.values[i] = use_left ? left : lanes.b.values[lanes.b.varies ? i : 0];
    if (lanes.failed != nullptr)
      lanes.failed[i] = left_failed || (!use_left && has_failed(lanes.b, i)) ? 1 : 0;
  }
}

void evaluate_choice(const Lanes& condition, const Evaluation& lanes) {
  for (std::size_t i = 0; i < lanes.count; ++i) {
    const bool unknown = has_failed(condition, i);
    const Lanes& chosen = condition.values[condition.varies ? i : 0] != 0 ? lanes.a : lanes.b;
    lanes.values[i] = unknown ? 0 : chosen.values[chosen.varies ? i : 0];
    if (lanes.failed != nullptr)
      lanes.failed[i] = unknown || has_failed(chosen, i) ? 1 : 0;
  }
}

} // namespace

void evaluate_lanes(const Term& term, const Lanes& a, const Lanes& b, const Lanes& c, std::size_t count,
                    std::int64_t* values, std::uint8_t* failed) {
  std::uint8_t* flags = term.may_fail ? failed : nullptr;
  if (term.op == Op::choose)
    return evaluate_choice(a, {b, c, count, values, flags});
  const Evaluation lanes{a, b.values == nullptr ? a : b, count, values, flags};
  if (term.op == Op::logical_and || term.op == Op::logical_or)
    return evaluate_logical(term.op == Op::logical_or ? 1 : 0, lanes);
  if (flags != nullptr)
    for (std::size_t i = 0; i < count; ++i)
      flags[i] = has_failed(lanes.a, i) || has_failed(lanes.b, i) ? 1 : 0;
  if (term.op == Op::truncate)
    return lanes.rounded([](double x) { return std::trunc(x); });
  if (term.op == Op::floor)
    return lanes.rounded([](double x) { return std::floor(x); });
  if (term.op == Op::ceil)
    return lanes.rounded([](double x) { return std::ceil(x); });
  // Of a comparison, `bits` says the kind of the operands; of everything else, `kind`.
  if (is_comparison(term.op) && term.bits != 0)
    return compare_real(term.op, lanes);
  if (term.kind == Kind::real && term.op != Op::to_real)
    return evaluate_real(term.op, lanes);
  evaluate_integer(term.op, lanes);
}

} // namespace lathe::space
