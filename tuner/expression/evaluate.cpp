#include "tuner/expression/expression_tree.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace lathe {
namespace {

Error reason(std::string why) {
  return usage_error("", std::move(why));
}
Error overflow() {
  return reason("an integer does not fit 64 bits");
}
Error zero_division() {
  return reason("division by zero");
}

bool is_string(const Value& value) {
  return std::holds_alternative<std::string>(value);
}

// A bool counts as 0 or 1; nothing for reals and strings.
std::optional<std::int64_t> as_integer(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return *integer;
  if (const auto* flag = std::get_if<bool>(&value))
    return std::int64_t{*flag};
  return std::nullopt;
}

double as_real(const Value& value) {
  if (const auto* real = std::get_if<double>(&value))
    return *real;
  return static_cast<double>(*as_integer(value));
}

Result<Value> finite(double value) {
  if (!std::isfinite(value))
    return reason("a real number overflows");
  return Value{value};
}

Result<Value> integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  // Squaring: 62 steps at most for a base that does not stay 0, 1 or -1.
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result))
      return overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
      return overflow();
  }
  return Value{result};
}

Result<Value> integer_shift(Operation operation, std::int64_t left, std::int64_t right) {
  if (right < 0 || right > 63)
    return reason("a shift by " + std::to_string(right) + " bits");
  if (operation == Operation::shift_right)
    return Value{left >> right};
  const auto shifted = static_cast<std::int64_t>(static_cast<std::uint64_t>(left) << right);
  if (shifted >> right != left)
    return overflow();
  return Value{shifted};
}

Result<Value> integer_division(Operation operation, std::int64_t left, std::int64_t right) {
  if (right == 0)
    return zero_division();
  const bool modulo = operation == Operation::modulo_floor || operation == Operation::modulo_truncate;
  if (right == -1) { // the one quotient that overflows; the processor traps on its remainder, too
    std::int64_t negated = 0;
    if (modulo)
      return Value{std::int64_t{0}};
    if (__builtin_sub_overflow(std::int64_t{0}, left, &negated))
      return overflow();
    return Value{negated};
  }
  const std::int64_t quotient = left / right;
  const std::int64_t remainder = left % right;
  const bool round_down = remainder != 0 && (remainder < 0) != (right < 0);
  switch (operation) {
  case Operation::divide_floor:
    return Value{quotient - (round_down ? 1 : 0)};
  case Operation::modulo_floor:
    return Value{remainder + (round_down ? right : 0)};
  case Operation::modulo_truncate:
    return Value{remainder};
  default:
    return Value{quotient};
  }
}

Result<Value> integer_binary(Operation operation, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  switch (operation) {
  case Operation::add:
    if (__builtin_add_overflow(left, right, &result))
      return overflow();
    return Value{result};
  case Operation::subtract:
    if (__builtin_sub_overflow(left, right, &result))
      return overflow();
    return Value{result};
  case Operation::multiply:
    if (__builtin_mul_overflow(left, right, &result))
      return overflow();
    return Value{result};
  case Operation::bit_and:
    return Value{left & right};
  case Operation::bit_or:
    return Value{left | right};
  case Operation::bit_xor:
    return Value{left ^ right};
  case Operation::shift_left:
  case Operation::shift_right:
    return integer_shift(operation, left, right);
  case Operation::power:
    if (right >= 0)
      return integer_power(left, right);
    if (left == 0)
      return zero_division();
    return finite(std::pow(static_cast<double>(left), static_cast<double>(right)));
  case Operation::divide_real:
    if (right == 0)
      return zero_division();
    return finite(static_cast<double>(left) / static_cast<double>(right));
  default:
    return integer_division(operation, left, right);
  }
}

Result<Value> real_binary(Operation operation, double left, double right) {
  switch (operation) {
  case Operation::add:
    return finite(left + right);
  case Operation::subtract:
    return finite(left - right);
  case Operation::multiply:
    return finite(left * right);
  case Operation::power:
    return finite(std::pow(left, right));
  case Operation::divide_truncate:
  case Operation::divide_real:
  case Operation::divide_floor:
    if (right == 0)
      return zero_division();
    return finite(operation == Operation::divide_floor ? std::floor(left / right) : left / right);
  case Operation::modulo_truncate:
  case Operation::modulo_floor: {
    if (right == 0)
      return zero_division();
    double remainder = std::fmod(left, right);
    if (operation == Operation::modulo_floor && remainder != 0 && (remainder < 0) != (right < 0))
      remainder += right;
    return finite(remainder);
  }
  default:
    return reason("a bit operation on a real number");
  }
}

Result<Value> binary(Operation operation, const Value& left, const Value& right) {
  if (is_string(left) || is_string(right))
    return reason("arithmetic on a string");
  const std::optional<std::int64_t> left_integer = as_integer(left);
  const std::optional<std::int64_t> right_integer = as_integer(right);
  if (left_integer && right_integer)
    return integer_binary(operation, *left_integer, *right_integer);
  return real_binary(operation, as_real(left), as_real(right));
}

// x86's long double holds every 64-bit integer and every double exactly: the order is exact.
std::partial_ordering compare_numbers(const Value& left, const Value& right) {
  const std::optional<std::int64_t> left_integer = as_integer(left);
  const std::optional<std::int64_t> right_integer = as_integer(right);
  if (left_integer && right_integer)
    return *left_integer <=> *right_integer;
  const auto widen = [](const Value& value, std::optional<std::int64_t> integer) {
    return integer ? static_cast<long double>(*integer) : static_cast<long double>(std::get<double>(value));
  };
  return widen(left, left_integer) <=> widen(right, right_integer);
}

// A string equals no number.
bool equal(const Value& left, const Value& right) {
  if (is_string(left) || is_string(right))
    return left == right;
  return compare_numbers(left, right) == 0;
}

Result<bool> compare(ComparisonOperator comparison, const Value& left, const Value& right) {
  if (comparison == ComparisonOperator::equal)
    return equal(left, right);
  if (comparison == ComparisonOperator::not_equal)
    return !equal(left, right);
  if (is_string(left) != is_string(right))
    return reason("a string and a number have no order");
  const std::partial_ordering order =
      is_string(left) ? std::partial_ordering(std::get<std::string>(left) <=> std::get<std::string>(right))
                      : compare_numbers(left, right);
  switch (comparison) {
  case ComparisonOperator::less:
    return order < 0;
  case ComparisonOperator::less_equal:
    return order <= 0;
  case ComparisonOperator::greater:
    return order > 0;
  default:
    return order >= 0;
  }
}

Result<Value> real_to_integer(double real) {
  if (!(std::abs(real) < 9.2e18))
    return overflow();
  return Value{static_cast<std::int64_t>(real)};
}

// The largest integer whose square is not above a non-negative one.
std::int64_t integer_root(std::int64_t value) {
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<long double>(value)));
  while (root > 0 && root > value / root)
    --root;
  while (root + 1 <= value / (root + 1))
    ++root;
  return root;
}

Result<Value> integer_call(Function function, const std::vector<Value>& arguments) {
  std::vector<std::int64_t> integers;
  for (const Value& argument : arguments) {
    const std::optional<std::int64_t> integer = as_integer(argument);
    if (!integer)
      return reason("an argument that must be an integer is " + to_string(argument));
    integers.push_back(*integer);
  }
  switch (function) {
  case Function::ceil_div: {
    LATHE_TRY(const Value floor, integer_division(Operation::divide_floor, integers[0], integers[1]));
    const bool exact = integers[1] == -1 || integers[0] % integers[1] == 0;
    return Value{std::get<std::int64_t>(floor) + (exact ? 0 : 1)};
  }
  case Function::gcd:
    if (std::find(integers.begin(), integers.end(), std::numeric_limits<std::int64_t>::min()) !=
        integers.end())
      return overflow();
    return Value{std::gcd(integers[0], integers[1])};
  case Function::lcm: {
    LATHE_TRY(const Value divisor, integer_call(Function::gcd, arguments));
    const std::int64_t common = std::get<std::int64_t>(divisor);
    if (common == 0)
      return Value{std::int64_t{0}};
    std::int64_t multiple = 0;
    if (__builtin_mul_overflow(integers[0] / common, integers[1], &multiple) ||
        multiple == std::numeric_limits<std::int64_t>::min())
      return overflow();
    return Value{std::abs(multiple)};
  }
  case Function::integer_root:
    if (integers[0] < 0)
      return reason("the square root of " + std::to_string(integers[0]));
    return Value{integer_root(integers[0])};
  case Function::floor_log2:
    if (integers[0] <= 0)
      return reason("the logarithm of " + std::to_string(integers[0]));
    return Value{std::int64_t{63 - std::countl_zero(static_cast<std::uint64_t>(integers[0]))}};
  case Function::is_pow2:
    return Value{integers[0] > 0 && std::has_single_bit(static_cast<std::uint64_t>(integers[0]))};
  default: // log2
    if (integers[0] <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(integers[0])))
      return reason("log2 of " + std::to_string(integers[0]) + ", which is no power of two");
    return Value{std::int64_t{std::countr_zero(static_cast<std::uint64_t>(integers[0]))}};
  }
}

// Python's functions of real numbers; round gives an integer.
Result<Value> real_call(Function function, const std::vector<Value>& arguments) {
  const double x = as_real(arguments[0]);
  const bool is_logarithm =
      function == Function::logarithm || function == Function::log2_real || function == Function::log10;
  if (is_logarithm && !(x > 0))
    return reason("the logarithm of " + to_string(arguments[0]));
  switch (function) {
  case Function::square_root:
    if (x < 0)
      return reason("the square root of " + to_string(arguments[0]));
    return finite(std::sqrt(x));
  case Function::logarithm: {
    if (arguments.size() == 1)
      return finite(std::log(x));
    const double base = as_real(arguments[1]);
    if (!(base > 0) || base == 1)
      return reason("a logarithm to the base " + to_string(arguments[1]));
    return finite(base == 2 ? std::log2(x) : base == 10 ? std::log10(x) : std::log(x) / std::log(base));
  }
  case Function::log2_real:
    return finite(std::log2(x));
  case Function::log10:
    return finite(std::log10(x));
  case Function::exponential:
    return finite(std::exp(x));
  default: // round
    return as_integer(arguments[0]) ? Value{*as_integer(arguments[0])} : real_to_integer(std::nearbyint(x));
  }
}

Result<Value> call(Function function, std::vector<Value> arguments) {
  if (std::any_of(arguments.begin(), arguments.end(), is_string))
    return reason("arithmetic on a string");
  const std::optional<std::int64_t> integer = as_integer(arguments[0]);
  switch (function) {
  case Function::minimum:
  case Function::maximum: {
    const auto less = [](const Value& left, const Value& right) { return compare_numbers(left, right) < 0; };
    return *(function == Function::minimum ? std::min_element(arguments.begin(), arguments.end(), less)
                                           : std::max_element(arguments.begin(), arguments.end(), less));
  }
  case Function::absolute:
    if (!integer)
      return Value{std::abs(as_real(arguments[0]))};
    if (*integer == std::numeric_limits<std::int64_t>::min())
      return overflow();
    return Value{std::abs(*integer)};
  case Function::square_root:
  case Function::logarithm:
  case Function::log2_real:
  case Function::log10:
  case Function::exponential:
  case Function::round:
    return real_call(function, arguments);
  case Function::to_real:
    return Value{as_real(arguments[0])};
  case Function::to_integer:
    return integer ? Value{*integer} : real_to_integer(std::trunc(as_real(arguments[0])));
  case Function::floor:
    return integer ? Value{*integer} : real_to_integer(std::floor(as_real(arguments[0])));
  case Function::ceil:
    return integer ? Value{*integer} : real_to_integer(std::ceil(as_real(arguments[0])));
  default:
    return integer_call(function, arguments);
  }
}

Result<bool> member(const Value& value, const ExpressionNode& list, const SlotLookup& lookup) {
  for (const ExpressionNode& element : list.children) {
    LATHE_TRY(const Value candidate, evaluate_tree(element, lookup));
    if (equal(value, candidate))
      return true;
  }
  return false;
}

Result<Value> compare_chain(const ExpressionNode& node, const SlotLookup& lookup) {
  LATHE_TRY(Value left, evaluate_tree(node.children[0], lookup));
  for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
    const ComparisonOperator comparison = node.comparisons[i];
    const ExpressionNode& operand = node.children[i + 1];
    if (comparison == ComparisonOperator::in || comparison == ComparisonOperator::not_in) {
      LATHE_TRY(const bool found, member(left, operand, lookup));
      if (found != (comparison == ComparisonOperator::in))
        return Value{false};
      continue; // the parser lets nothing follow a list
    }
    LATHE_TRY(Value right, evaluate_tree(operand, lookup));
    LATHE_TRY(const bool holds, compare(comparison, left, right));
    if (!holds)
      return Value{false};
    left = std::move(right);
  }
  return Value{true};
}

// `stop` is the truth that ends the evaluation: false for `and`, true for `or`.
Result<Value> logical(const ExpressionNode& node, const SlotLookup& lookup, bool stop, bool operands) {
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    LATHE_TRY(Value value, evaluate_tree(node.children[i], lookup));
    const bool last = i + 1 == node.children.size();
    if (operands && last)
      return value;
    LATHE_TRY(const bool holds, truth(value));
    if (holds == stop)
      return operands ? std::move(value) : Value{stop};
  }
  return Value{!stop};
}

} // namespace

Result<bool> truth(const Value& value) {
  if (is_string(value))
    return reason("a string is neither true nor false");
  if (const auto* real = std::get_if<double>(&value))
    return *real != 0;
  return *as_integer(value) != 0;
}

Result<Value> evaluate_tree(const ExpressionNode& node, const SlotLookup& lookup) {
  switch (node.operation) {
  case Operation::constant:
    return node.value;
  case Operation::name:
    return lookup(node.slot);
  case Operation::list:
    return reason("a list is no value");
  case Operation::logical_and:
    return logical(node, lookup, false, false);
  case Operation::logical_or:
    return logical(node, lookup, true, false);
  case Operation::operand_and:
    return logical(node, lookup, false, true);
  case Operation::operand_or:
    return logical(node, lookup, true, true);
  case Operation::compare:
    return compare_chain(node, lookup);
  case Operation::choose: {
    LATHE_TRY(const Value condition, evaluate_tree(node.children[0], lookup));
    LATHE_TRY(const bool holds, truth(condition));
    return evaluate_tree(node.children[holds ? 1 : 2], lookup);
  }
  case Operation::call: {
    std::vector<Value> arguments;
    for (const ExpressionNode& child : node.children) {
      LATHE_TRY(Value argument, evaluate_tree(child, lookup));
      arguments.push_back(std::move(argument));
    }
    return call(node.function, std::move(arguments));
  }
  default:
    break;
  }
  LATHE_TRY(const Value first, evaluate_tree(node.children[0], lookup));
  switch (node.operation) {
  case Operation::logical_not: {
    LATHE_TRY(const bool holds, truth(first));
    return Value{!holds};
  }
  case Operation::negate:
    if (const auto* real = std::get_if<double>(&first))
      return Value{-*real};
    return binary(Operation::subtract, Value{std::int64_t{0}}, first);
  case Operation::bit_not: {
    const std::optional<std::int64_t> integer = as_integer(first);
    if (!integer)
      return reason("a bit operation on something that is no integer");
    return Value{~*integer};
  }
  default: {
    LATHE_TRY(const Value second, evaluate_tree(node.children[1], lookup));
    return binary(node.operation, first, second);
  }
  }
}

} // namespace lathe
