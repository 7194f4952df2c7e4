#include "refactor/knobs/rounded_up.h"

#include "refactor/knobs/geometry.h"

#include <cstdint>
#include <variant>

namespace lathe::refactor {
namespace {

bool is_number(const ExpressionNode& node, std::int64_t number) {
  const auto* value =
      node.operation == Operation::constant ? std::get_if<std::int64_t>(&node.value) : nullptr;
  return value && *value == number;
}

class Rounding {
public:
  explicit Rounding(const std::vector<std::string>& names) : names_(names) {}

  std::optional<RoundedUp> of(const ExpressionNode& node) const {
    if (node.operation == Operation::call && node.function == Function::ceil_div)
      return RoundedUp{&node.children[0], &node.children[1]};
    if (node.operation == Operation::add)
      for (const std::size_t first : {0, 1})
        if (const auto quotient = quotient_of(node.children[first]);
            quotient && is_one_where_left_over(node.children[1 - first], *quotient))
          return quotient;
    // n % d == 0 ? n / d : n / d + 1
    if (node.operation == Operation::choose)
      for (const std::size_t whole : {1, 2}) {
        const auto quotient = quotient_of(node.children[whole]);
        if (quotient && tells_left_over(node.children[0], *quotient) == (whole == 2) &&
            is_one_more(node.children[3 - whole], node.children[whole]))
          return quotient;
      }
    return std::nullopt;
  }

private:
  static std::optional<RoundedUp> quotient_of(const ExpressionNode& node) {
    if (node.operation != Operation::divide_truncate && node.operation != Operation::divide_floor)
      return std::nullopt;
    return RoundedUp{&node.children[0], &node.children[1]};
  }

  bool is_same(const ExpressionNode& one, const ExpressionNode& other) const {
    return format_tree(one, names_) == format_tree(other, names_);
  }

  bool is_remainder(const ExpressionNode& node, const RoundedUp& division) const {
    return (node.operation == Operation::modulo_truncate || node.operation == Operation::modulo_floor) &&
           is_same(node.children[0], *division.dividend) && is_same(node.children[1], *division.divisor);
  }

  // Whether a condition holds where something is left over, or where nothing is; nothing of other conditions.
  std::optional<bool> tells_left_over(const ExpressionNode& node, const RoundedUp& division) const {
    if (is_remainder(node, division))
      return true;
    if (node.operation == Operation::logical_not)
      if (const auto inner = tells_left_over(node.children[0], division))
        return !*inner;
    if (node.operation != Operation::compare || node.children.size() != 2)
      return std::nullopt;
    const ComparisonOperator comparison = node.comparisons.front();
    const bool is_first = is_remainder(node.children[0], division) && is_number(node.children[1], 0);
    const bool is_second = is_remainder(node.children[1], division) && is_number(node.children[0], 0);
    if (!is_first && !is_second)
      return std::nullopt;
    if (comparison == ComparisonOperator::equal)
      return false;
    if (comparison == ComparisonOperator::not_equal ||
        comparison == (is_first ? ComparisonOperator::greater : ComparisonOperator::less))
      return true;
    return std::nullopt;
  }

  bool is_one_where_left_over(const ExpressionNode& node, const RoundedUp& division) const {
    if (node.operation == Operation::choose) {
      const auto tells = tells_left_over(node.children[0], division);
      return tells && is_number(node.children[1], *tells ? 1 : 0) &&
             is_number(node.children[2], *tells ? 0 : 1);
    }
    return !is_remainder(node, division) && tells_left_over(node, division) == true;
  }

  bool is_one_more(const ExpressionNode& node, const ExpressionNode& than) const {
    return node.operation == Operation::add &&
           ((is_same(node.children[0], than) && is_number(node.children[1], 1)) ||
            (is_same(node.children[1], than) && is_number(node.children[0], 1)));
  }

  const std::vector<std::string>& names_;
};

} // namespace

std::optional<RoundedUp> rounded_up(const ExpressionNode& node, const std::vector<std::string>& names) {
  return Rounding(names).of(node);
}

} // namespace lathe::refactor
