#include "refactor/frontend/value_range.h"

#include "tuner/expression/expression_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::refactor {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Range {
  double low = -infinity, high = infinity;
  bool is_true() const { return low > 0 || high < 0; }
  bool is_false() const { return low == 0 && high == 0; }
};

const Range truth{0, 1};

// Of a monotonic operation: its values at the corners.
template <class Operation> Range over_corners(const Range& a, const Range& b, Operation operation) {
  Range result{infinity, -infinity};
  for (const double left : {a.low, a.high})
    for (const double right : {b.low, b.high}) {
      const double value = operation(left, right);
      if (std::isnan(value))
        return {};
      result = {std::min(result.low, value), std::max(result.high, value)};
    }
  return result;
}

Range compared(const Range& a, ComparisonOperator how, const Range& b) {
  switch (how) {
  case ComparisonOperator::less:
    return a.high < b.low ? Range{1, 1} : a.low >= b.high ? Range{0, 0} : truth;
  case ComparisonOperator::less_equal:
    return a.high <= b.low ? Range{1, 1} : a.low > b.high ? Range{0, 0} : truth;
  case ComparisonOperator::greater:
    return compared(b, ComparisonOperator::less, a);
  case ComparisonOperator::greater_equal:
    return compared(b, ComparisonOperator::less_equal, a);
  case ComparisonOperator::equal:
    return a.high < b.low || b.high < a.low ? Range{0, 0} : truth;
  case ComparisonOperator::not_equal:
    return a.high < b.low || b.high < a.low ? Range{1, 1} : truth;
  default:
    return truth;
  }
}

Range range_of(const ExpressionNode& node);

Range united(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Range called(const ExpressionNode& node) {
  std::vector<Range> arguments;
  for (const ExpressionNode& child : node.children)
    arguments.push_back(range_of(child));
  const bool extreme = node.function == Function::minimum || node.function == Function::maximum;
  if (extreme && !arguments.empty()) {
    const auto pick = [&](double a, double b) {
      return node.function == Function::minimum ? std::min(a, b) : std::max(a, b);
    };
    Range result = arguments.front();
    for (const Range& other : arguments)
      result = {pick(result.low, other.low), pick(result.high, other.high)};
    return result;
  }
  if (node.function == Function::ceil_div && arguments.size() == 2 && arguments[1].low > 0)
    return over_corners(arguments[0], arguments[1], [](double a, double b) { return std::ceil(a / b); });
  return {};
}

Range combined(Operation operation, const Range& a, const Range& b) {
  switch (operation) {
  case Operation::add:
    return {a.low + b.low, a.high + b.high};
  case Operation::subtract:
    return {a.low - b.high, a.high - b.low};
  case Operation::multiply:
    return over_corners(a, b, [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; });
  default: // a quotient
    if (b.low <= 0 || a.low < 0)
      return {};
    return over_corners(a, b, [](double x, double y) { return std::isinf(y) ? 0 : std::floor(x / y); });
  }
}

Range range_of(const ExpressionNode& node) {
  const auto child = [&](std::size_t i) { return range_of(node.children[i]); };
  switch (node.operation) {
  case Operation::constant:
    if (const auto* number = std::get_if<std::int64_t>(&node.value))
      return {static_cast<double>(*number), static_cast<double>(*number)};
    if (const auto* flag = std::get_if<bool>(&node.value))
      return {*flag ? 1.0 : 0.0, *flag ? 1.0 : 0.0};
    return {};
  case Operation::name: {
    // No size is larger than what an int counts to.
    constexpr double LARGEST = 2147483648.0;
    return {0, LARGEST};
  }
  case Operation::add:
  case Operation::subtract:
  case Operation::multiply:
  case Operation::divide_truncate:
  case Operation::divide_floor:
    return combined(node.operation, child(0), child(1));
  case Operation::call:
    return called(node);
  case Operation::choose: {
    const Range condition = child(0);
    return condition.is_true() ? child(1) : condition.is_false() ? child(2) : united(child(1), child(2));
  }
  case Operation::logical_not: {
    const Range condition = child(0);
    return condition.is_true() ? Range{0, 0} : condition.is_false() ? Range{1, 1} : truth;
  }
  case Operation::logical_and:
  case Operation::logical_or: {
    const bool decisive = node.operation == Operation::logical_or;
    bool all = true;
    for (const ExpressionNode& part : node.children) {
      const Range condition = range_of(part);
      if (decisive ? condition.is_true() : condition.is_false())
        return decisive ? Range{1, 1} : Range{0, 0};
      all &= decisive ? condition.is_false() : condition.is_true();
    }
    return all ? (decisive ? Range{0, 0} : Range{1, 1}) : truth;
  }
  case Operation::compare: {
    Range result{1, 1}, left = child(0);
    for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
      const Range right = child(i + 1), one = compared(left, node.comparisons[i], right);
      left = right;
      if (one.is_false())
        return {0, 0};
      result = one.is_true() ? result : truth;
    }
    return result;
  }
  default:
    return {};
  }
}

} // namespace

std::optional<bool> decided_for_all_sizes(const std::string& expression) {
  const auto parsed = Expression::parse(expression);
  if (!parsed.ok())
    return std::nullopt;
  const Range range = range_of(parsed->root());
  if (range.is_true() || range.is_false())
    return range.is_true();
  return std::nullopt;
}

} // namespace lathe::refactor
