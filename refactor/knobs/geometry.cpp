#include "refactor/knobs/geometry.h"

#include "refactor/knobs/rounded_up.h"

#include <functional>

namespace lathe::refactor {

namespace {

std::string_view symbol(Operation operation) {
  switch (operation) {
  case Operation::add:
    return " + ";
  case Operation::subtract:
    return " - ";
  case Operation::multiply:
    return " * ";
  case Operation::divide_truncate:
  case Operation::divide_real:
    return " / ";
  case Operation::divide_floor:
    return " // ";
  case Operation::modulo_truncate:
  case Operation::modulo_floor:
    return " % ";
  case Operation::power:
    return " ** ";
  case Operation::bit_and:
    return " & ";
  case Operation::bit_or:
    return " | ";
  case Operation::bit_xor:
    return " ^ ";
  case Operation::shift_left:
    return " << ";
  case Operation::shift_right:
    return " >> ";
  default:
    return " ? ";
  }
}

std::string_view symbol(ComparisonOperator comparison) {
  switch (comparison) {
  case ComparisonOperator::less:
    return " < ";
  case ComparisonOperator::less_equal:
    return " <= ";
  case ComparisonOperator::greater:
    return " > ";
  case ComparisonOperator::greater_equal:
    return " >= ";
  case ComparisonOperator::equal:
    return " == ";
  case ComparisonOperator::not_equal:
    return " != ";
  case ComparisonOperator::in:
    return " in ";
  case ComparisonOperator::not_in:
    return " not in ";
  }
  return " == ";
}

std::string_view name_of(Function function) {
  switch (function) {
  case Function::minimum:
    return "min";
  case Function::maximum:
    return "max";
  case Function::absolute:
    return "abs";
  case Function::ceil_div:
    return "ceil_div";
  case Function::gcd:
    return "gcd";
  case Function::log2:
    return "log2";
  case Function::floor_log2:
    return "floor_log2";
  case Function::is_pow2:
    return "is_pow2";
  case Function::to_integer:
    return "int";
  case Function::to_real:
    return "float";
  case Function::floor:
    return "floor";
  case Function::ceil:
    return "ceil";
  case Function::square_root:
    return "sqrt";
  case Function::logarithm:
    return "log";
  case Function::log2_real:
    return "log2";
  case Function::log10:
    return "log10";
  case Function::exponential:
    return "exp";
  case Function::round:
    return "round";
  case Function::lcm:
    return "lcm";
  case Function::integer_root:
    return "isqrt";
  }
  return "";
}

// Rewrites a tree while printing it: `replace` may return the text for a node.
using Replace = std::function<std::optional<std::string>(const ExpressionNode&)>;

std::string print(const ExpressionNode& node, const std::vector<std::string>& names, const Replace& replace,
                  bool outer = false) {
  if (replace)
    if (auto text = replace(node))
      return *text;
  const auto child = [&](std::size_t i) { return print(node.children[i], names, replace); };
  const auto joined = [&](std::string_view separator) {
    std::string text;
    for (std::size_t i = 0; i < node.children.size(); ++i)
      text += (i ? std::string(separator) : "") + child(i);
    return text;
  };
  const auto wrapped = [&](const std::string& text) { return outer ? text : "(" + text + ")"; };
  switch (node.operation) {
  case Operation::constant:
    return to_string(node.value);
  case Operation::name:
    return names[node.slot];
  case Operation::list:
    return "[" + joined(", ") + "]";
  case Operation::logical_not:
    return wrapped("!" + child(0));
  case Operation::logical_and:
  case Operation::operand_and:
    return wrapped(joined(" && "));
  case Operation::logical_or:
  case Operation::operand_or:
    return wrapped(joined(" || "));
  case Operation::compare: {
    std::string text = child(0);
    for (std::size_t i = 0; i < node.comparisons.size(); ++i)
      text += std::string(symbol(node.comparisons[i])) + child(i + 1);
    return wrapped(text);
  }
  case Operation::choose:
    return wrapped(child(0) + " ? " + child(1) + " : " + child(2));
  case Operation::call:
    return std::string(name_of(node.function)) + "(" + joined(", ") + ")";
  case Operation::negate:
    return wrapped("-" + child(0));
  case Operation::bit_not:
    return wrapped("~" + child(0));
  default:
    return wrapped(child(0) + std::string(symbol(node.operation)) + child(1));
  }
}

// The terms of a sum with their signs.
void flatten(const ExpressionNode& node, bool negative,
             std::vector<std::pair<const ExpressionNode*, bool>>& terms) {
  if (node.operation == Operation::add || node.operation == Operation::subtract) {
    flatten(node.children[0], negative, terms);
    flatten(node.children[1], negative != (node.operation == Operation::subtract), terms);
  } else {
    terms.push_back({&node, negative});
  }
}

std::optional<std::int64_t> constant_of(const ExpressionNode& node) {
  const auto value =
      evaluate_tree(node, [](std::size_t) -> Result<Value> { return Error{"", "a name", ""}; });
  if (!value.ok())
    return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(&value.value());
  return number ? std::optional(*number) : std::nullopt;
}

} // namespace

std::string format_tree(const ExpressionNode& node, const std::vector<std::string>& names) {
  return print(node, names, {}, true);
}

std::set<std::string> names_below(const ExpressionNode& node, const std::vector<std::string>& names) {
  std::set<std::string> found;
  if (node.operation == Operation::name)
    found.insert(names[node.slot]);
  for (const ExpressionNode& child : node.children)
    found.merge(names_below(child, names));
  return found;
}

std::string canonical(const Expression& expression) {
  return format_tree(expression.root(), expression.names());
}

std::optional<std::int64_t> constant_of(const Expression& expression) {
  return constant_of(expression.root());
}

Result<Expression> replace_subtree(const Expression& expression, const Expression& from,
                                   const std::string& to, int& count) {
  const std::string target = canonical(from);
  const Replace replace = [&](const ExpressionNode& node) -> std::optional<std::string> {
    if (format_tree(node, expression.names()) != target)
      return std::nullopt;
    ++count;
    return to;
  };
  const int before = count;
  const std::string text = print(expression.root(), expression.names(), replace, true);
  if (count == before)
    return expression;
  return Expression::parse(text, expression.dialect());
}

Result<Expression> replace_ceil_div(const Expression& expression, const Expression& divisor,
                                    const std::string& to, int& count) {
  const auto& names = expression.names();
  const std::string target = canonical(divisor);
  const auto value = constant_of(divisor);
  const auto is_divisor = [&](const ExpressionNode& node) {
    return format_tree(node, names) == target || (value && constant_of(node) == value);
  };
  Replace replace = [&](const ExpressionNode& node) -> std::optional<std::string> {
    if (const auto up = rounded_up(node, names); up && is_divisor(*up->divisor)) {
      ++count;
      return "ceil_div(" + format_tree(*up->dividend, names) + ", " + to + ")";
    }
    if (node.operation != Operation::divide_truncate && node.operation != Operation::divide_floor)
      return std::nullopt;
    if (!is_divisor(node.children[1]))
      return std::nullopt;
    std::vector<std::pair<const ExpressionNode*, bool>> terms;
    flatten(node.children[0], false, terms);
    // What is left after taking divisor - 1 away must be the numerator.
    bool took_divisor = false;
    std::int64_t constant = 0;
    std::string numerator;
    for (const auto& [term, negative] : terms) {
      if (!took_divisor && !negative && !value && is_divisor(*term)) {
        took_divisor = true;
        continue;
      }
      if (const auto number = constant_of(*term)) {
        constant += negative ? -*number : *number;
        continue;
      }
      numerator += (negative ? " - " : numerator.empty() ? "" : " + ") + format_tree(*term, names);
    }
    const std::int64_t wanted = value ? *value - 1 : -1;
    if ((!value && !took_divisor) || constant != wanted || numerator.empty())
      return std::nullopt;
    ++count;
    return "ceil_div(" + numerator + ", " + to + ")";
  };
  const int before = count;
  const std::string text = print(expression.root(), names, replace, true);
  if (count == before)
    return expression;
  return Expression::parse(text, expression.dialect());
}

} // namespace lathe::refactor
