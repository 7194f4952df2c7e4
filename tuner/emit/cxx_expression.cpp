#include "tuner/emit/cxx_expression.h"

#include "tuner/expression/expression_tree.h"

#include <charconv>
#include <string_view>
#include <system_error>
#include <vector>

namespace lathe {
namespace {

class Printer {
public:
  Printer(const Expression& expression, const CxxName& name) : expression_(expression), name_(name) {}

  Result<std::string> print(const ExpressionNode& node) {
    switch (node.operation) {
    case Operation::constant:
      return constant(node.value);
    case Operation::name:
      return name(expression_.names()[node.slot]);
    case Operation::logical_not:
      return unary("!", node);
    case Operation::negate:
      return unary("-", node);
    case Operation::bit_not:
      return unary("~", node);
    case Operation::logical_and:
      return logical(" && ", "true", "false", node);
    case Operation::logical_or:
      return logical(" || ", "false", "true", node);
    case Operation::operand_and:
      return joined(" && ", node);
    case Operation::operand_or:
      return joined(" || ", node);
    case Operation::compare:
      return comparison(node);
    case Operation::choose:
      return choice(node);
    case Operation::call:
      return call(node);
    default:
      return arithmetic(node);
    }
  }

private:
  Error unsupported(const std::string& what) const {
    return {"cannot write '" + expression_.text() + "' as C++", what, "rewrite it with integer C operators"};
  }

  Result<std::string> constant(const Value& value) const {
    if (const auto* flag = std::get_if<bool>(&value))
      return std::string(*flag ? "true" : "false");
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      return std::to_string(*integer) + "LL";
    return unsupported("it holds " + to_string(value) + ", which is no integer");
  }

  Result<std::string> name(const std::string& text) const {
    if (const auto spelled = name_(text))
      return *spelled;
    return unsupported("'" + text + "' is not known at run time");
  }

  Result<std::string> unary(const char* sign, const ExpressionNode& node) {
    LATHE_TRY(const std::string operand, print(node.children[0]));
    if (node.operation == Operation::logical_not && (operand == "true" || operand == "false"))
      return std::string(operand == "true" ? "false" : "true");
    return sign + ("(" + operand + ")");
  }

  Result<std::string> joined(const char* sign, const ExpressionNode& node) {
    std::string text;
    for (const ExpressionNode& child : node.children) {
      LATHE_TRY(const std::string part, print(child));
      text += (text.empty() ? "(" : sign) + part;
    }
    return text + ")";
  }

  // Parts that decide nothing are left out, and what is decided by a part is no more than that.
  Result<std::string> logical(const char* sign, const char* neutral, const char* decisive,
                              const ExpressionNode& node) {
    std::vector<std::string> parts;
    for (const ExpressionNode& child : node.children) {
      LATHE_TRY(std::string part, print(child));
      if (part == decisive)
        return part;
      if (part != neutral)
        parts.push_back(std::move(part));
    }
    if (parts.size() < 2)
      return parts.empty() ? std::string(neutral) : parts.front();
    std::string text;
    for (const std::string& part : parts)
      text += (text.empty() ? "(" : sign) + part;
    return text + ")";
  }

  Result<std::string> membership(const ExpressionNode& left, const ExpressionNode& list, bool positive) {
    LATHE_TRY(const std::string needle, print(left));
    std::string text;
    for (const ExpressionNode& element : list.children) {
      LATHE_TRY(const std::string value, print(element));
      text += (text.empty() ? "" : " || ") + ("(" + needle + " == " + value + ")");
    }
    if (text.empty())
      text = "false";
    return (positive ? "(" : "!(") + text + ")";
  }

  // What a comparison of knobs' values comes to: both are numbers as constant() writes them.
  static std::optional<bool> decided(const std::string& left, ComparisonOperator kind,
                                     const std::string& right) {
    const auto number = [](const std::string& text) -> std::optional<std::int64_t> {
      std::int64_t value = 0;
      const char* end = text.data() + text.size();
      const auto [rest, error] = std::from_chars(text.data(), end, value);
      return error == std::errc() && std::string_view(rest, end) == "LL" ? std::optional(value)
                                                                         : std::nullopt;
    };
    const auto a = number(left), b = number(right);
    if (!a || !b)
      return std::nullopt;
    switch (kind) {
    case ComparisonOperator::less:
      return *a < *b;
    case ComparisonOperator::less_equal:
      return *a <= *b;
    case ComparisonOperator::greater:
      return *a > *b;
    case ComparisonOperator::greater_equal:
      return *a >= *b;
    case ComparisonOperator::equal:
      return *a == *b;
    case ComparisonOperator::not_equal:
      return *a != *b;
    default:
      return std::nullopt;
    }
  }

  Result<std::string> comparison(const ExpressionNode& node) {
    static constexpr const char* signs[] = {"<", "<=", ">", ">=", "==", "!="};
    std::string text;
    for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
      const ComparisonOperator kind = node.comparisons[i];
      std::string part;
      if (kind == ComparisonOperator::in || kind == ComparisonOperator::not_in) {
        LATHE_TRY(part, membership(node.children[i], node.children[i + 1], kind == ComparisonOperator::in));
      } else {
        LATHE_TRY(const std::string left, print(node.children[i]));
        LATHE_TRY(const std::string right, print(node.children[i + 1]));
        const auto known = decided(left, kind, right);
        if (known && node.comparisons.size() == 1)
          return std::string(*known ? "true" : "false");
        part = "(" + left + " " + signs[static_cast<int>(kind)] + " " + right + ")";
      }
      text += (text.empty() ? "" : " && ") + part;
    }
    return "(" + text + ")";
  }

  Result<std::string> choice(const ExpressionNode& node) {
    LATHE_TRY(const std::string condition, print(node.children[0]));
    if (condition == "true" || condition == "false")
      return print(node.children[condition == "true" ? 1 : 2]);
    LATHE_TRY(const std::string yes, print(node.children[1]));
    LATHE_TRY(const std::string no, print(node.children[2]));
    return "(" + condition + " ? " + yes + " : " + no + ")";
  }

  Result<std::string> call(const ExpressionNode& node) {
    std::string function;
    switch (node.function) {
    case Function::minimum:
      function = "minimum";
      break;
    case Function::maximum:
      function = "maximum";
      break;
    case Function::absolute:
      function = "absolute";
      break;
    case Function::ceil_div:
      function = "ceil_div";
      break;
    case Function::gcd:
      function = "greatest_divisor";
      break;
    case Function::log2:
    case Function::floor_log2:
      function = "logarithm2";
      break;
    case Function::is_pow2:
      function = "power_of_two";
      break;
    case Function::to_integer:
    case Function::floor:
    case Function::ceil:
      return print(node.children[0]); // of an integer: itself
    case Function::to_real:
      return unsupported("it converts to a real number");
    case Function::square_root:
    case Function::logarithm:
    case Function::log2_real:
    case Function::log10:
    case Function::exponential:
    case Function::round:
    case Function::lcm:
    case Function::integer_root:
      return unsupported("it uses a function of Python's");
    }
    // minimum and maximum take any number of arguments: nested calls of two.
    LATHE_TRY(std::string text, print(node.children[0]));
    if (node.children.size() == 1)
      return function + "(" + text + ")";
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      LATHE_TRY(const std::string argument, print(node.children[i]));
      text = function + "(" + text + ", " + argument + ")";
    }
    return text;
  }

  Result<std::string> arithmetic(const ExpressionNode& node) {
    const char* sign = nullptr;
    switch (node.operation) {
    case Operation::add:
      sign = " + ";
      break;
    case Operation::subtract:
      sign = " - ";
      break;
    case Operation::multiply:
      sign = " * ";
      break;
    case Operation::divide_truncate:
      sign = " / ";
      break;
    case Operation::modulo_truncate:
      sign = " % ";
      break;
    case Operation::bit_and:
      sign = " & ";
      break;
    case Operation::bit_or:
      sign = " | ";
      break;
    case Operation::bit_xor:
      sign = " ^ ";
      break;
    case Operation::shift_left:
      sign = " << ";
      break;
    case Operation::shift_right:
      sign = " >> ";
      break;
    default:
      return unsupported("it uses an operator that C++ lacks");
    }
    return joined(sign, node);
  }

  const Expression& expression_;
  const CxxName& name_;
};

} // namespace

Result<std::string> cxx_expression(const Expression& expression, const CxxName& name) {
  return Printer(expression, name).print(expression.root());
}

} // namespace lathe
