#include "tuner/spec/python_text.h"

#include "tuner/expression/expression_tree.h"

#include <algorithm>

namespace lathe::spec {
namespace {

std::string around(std::string_view before, std::string_view text, std::string_view after = "") {
  std::string result(before);
  result += text;
  result += after;
  return result;
}

class Printer {
public:
  Printer(const Expression& expression, const std::map<std::string, Value>& constants,
          const std::vector<std::string>& non_negative)
      : names_(expression.names()), constants_(constants), non_negative_(non_negative) {}

  std::optional<std::string> print(const ExpressionNode& node) {
    std::string text = print_node(node);
    return possible_ ? std::optional(std::move(text)) : std::nullopt;
  }

private:
  // An operand: everything that is not a number, a name or a call stands in parentheses.
  std::string operand(const ExpressionNode& node) {
    std::string text = print_node(node);
    const bool atom = node.operation == Operation::constant || node.operation == Operation::name ||
                      node.operation == Operation::call || node.operation == Operation::list;
    return atom && text[0] != '-' ? text : around("(", text, ")");
  }

  std::string joined(const ExpressionNode& node, std::string_view separator) {
    std::string text;
    for (const ExpressionNode& child : node.children)
      text += (text.empty() ? std::string() : std::string(separator)) + operand(child);
    return text;
  }

  // C's operators give true or false where Python's give an operand.
  std::string truths(const ExpressionNode& node, std::string_view separator) {
    std::string text;
    for (const ExpressionNode& child : node.children) {
      const bool is_bool =
          child.operation == Operation::compare || child.operation == Operation::logical_not ||
          child.operation == Operation::logical_and || child.operation == Operation::logical_or ||
          (child.operation == Operation::constant && std::holds_alternative<bool>(child.value));
      text += text.empty() ? std::string_view() : separator;
      text += is_bool ? operand(child) : around("(", operand(child), " != 0)");
    }
    return text;
  }

  std::string impossible() {
    possible_ = false;
    return "0";
  }

  // A value that is an integer of at least zero for every value of the knobs.
  bool is_non_negative(const ExpressionNode& node) const {
    const auto all = [&] {
      return std::all_of(node.children.begin(), node.children.end(),
                         [&](const ExpressionNode& child) { return is_non_negative(child); });
    };
    switch (node.operation) {
    case Operation::constant: {
      const auto* integer = std::get_if<std::int64_t>(&node.value);
      return std::holds_alternative<bool>(node.value) || (integer && *integer >= 0);
    }
    case Operation::name: {
      const std::string& name = names_[node.slot];
      if (const auto constant = constants_.find(name); constant != constants_.end()) {
        const auto* integer = std::get_if<std::int64_t>(&constant->second);
        return integer && *integer >= 0;
      }
      return std::find(non_negative_.begin(), non_negative_.end(), name) != non_negative_.end();
    }
    case Operation::add:
    case Operation::multiply:
    case Operation::divide_truncate:
    case Operation::divide_floor:
    case Operation::modulo_truncate:
    case Operation::modulo_floor:
      return all();
    case Operation::choose:
      return is_non_negative(node.children[1]) && is_non_negative(node.children[2]);
    case Operation::call:
      return (node.function == Function::minimum || node.function == Function::maximum ||
              node.function == Function::ceil_div || node.function == Function::gcd) &&
             all();
    default:
      return false;
    }
  }

  std::string comparison(const ExpressionNode& node) {
    static constexpr std::string_view symbols[] = {
        " < ", " <= ", " > ", " >= ", " == ", " != ", " in ", " not in "};
    std::string text = operand(node.children[0]);
    for (std::size_t i = 0; i < node.comparisons.size(); ++i)
      text +=
          std::string(symbols[static_cast<std::size_t>(node.comparisons[i])]) + operand(node.children[i + 1]);
    return text;
  }

  std::string call(const ExpressionNode& node) {
    const auto with = [&](std::string_view function) {
      std::string text(function);
      text += '(';
      for (std::size_t i = 0; i < node.children.size(); ++i)
        text += (i == 0 ? "" : ", ") + print_node(node.children[i]);
      return text + ")";
    };
    switch (node.function) {
    case Function::minimum:
      return with("min");
    case Function::maximum:
      return with("max");
    case Function::absolute:
      return with("abs");
    case Function::to_integer:
      return with("int");
    case Function::to_real:
      return with("float");
    case Function::ceil_div:
      if (is_non_negative(node.children[0]) && is_non_negative(node.children[1]))
        return around("(-(-", operand(node.children[0]), " // ") + operand(node.children[1]) + "))";
      return impossible();
    default: // the others need an import
      return impossible();
    }
  }

  std::string truncating(const ExpressionNode& node, std::string_view symbol) {
    if (is_non_negative(node.children[0]) && is_non_negative(node.children[1]))
      return joined(node, symbol);
    return impossible();
  }

  std::string print_node(const ExpressionNode& node) {
    switch (node.operation) {
    case Operation::constant:
      return python_literal(node.value);
    case Operation::name: {
      const std::string& name = names_[node.slot];
      if (const auto constant = constants_.find(name); constant != constants_.end())
        return python_literal(constant->second);
      return name.find('.') == std::string::npos ? name : impossible();
    }
    case Operation::list: {
      std::string text = "[";
      for (std::size_t i = 0; i < node.children.size(); ++i)
        text += (i == 0 ? "" : ", ") + print_node(node.children[i]);
      return text + "]";
    }
    case Operation::logical_not:
      return around("not ", operand(node.children[0]));
    case Operation::logical_and:
      return truths(node, " and ");
    case Operation::logical_or:
      return truths(node, " or ");
    case Operation::operand_and:
      return joined(node, " and ");
    case Operation::operand_or:
      return joined(node, " or ");
    case Operation::compare:
      return comparison(node);
    case Operation::choose:
      return operand(node.children[1]) + " if " + operand(node.children[0]) + " else " +
             operand(node.children[2]);
    case Operation::call:
      return call(node);
    case Operation::negate:
      return around("-", operand(node.children[0]));
    case Operation::bit_not:
      return around("~", operand(node.children[0]));
    case Operation::add:
      return joined(node, " + ");
    case Operation::subtract:
      return joined(node, " - ");
    case Operation::multiply:
      return joined(node, " * ");
    case Operation::divide_truncate:
      return truncating(node, " // ");
    case Operation::divide_real:
      return joined(node, " / ");
    case Operation::divide_floor:
      return joined(node, " // ");
    case Operation::modulo_truncate:
      return truncating(node, " % ");
    case Operation::modulo_floor:
      return joined(node, " % ");
    case Operation::power:
      return joined(node, " ** ");
    case Operation::bit_and:
      return joined(node, " & ");
    case Operation::bit_or:
      return joined(node, " | ");
    case Operation::bit_xor:
      return joined(node, " ^ ");
    case Operation::shift_left:
      return joined(node, " << ");
    case Operation::shift_right:
      return joined(node, " >> ");
    }
    return impossible();
  }

  const std::vector<std::string>& names_;
  const std::map<std::string, Value>& constants_;
  const std::vector<std::string>& non_negative_;
  bool possible_ = true;
};

} // namespace

std::string python_literal(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value))
    return *flag ? "True" : "False";
  if (const auto* text = std::get_if<std::string>(&value)) {
    std::string quoted = "'";
    for (const char c : *text) {
      if (c == '\'' || c == '\\')
        quoted += '\\';
      quoted += c;
    }
    return quoted + "'";
  }
  return to_string(value);
}

std::optional<std::string> python_text(const Expression& expression,
                                       const std::map<std::string, Value>& constants,
                                       const std::vector<std::string>& non_negative) {
  // What is Python already and needs no substitution keeps its author's spelling.
  const bool unchanged =
      expression.dialect() == Dialect::python &&
      std::none_of(expression.names().begin(), expression.names().end(), [&](const auto& name) {
        return constants.contains(name) || name.find('.') != std::string::npos;
      });
  if (unchanged)
    return expression.text();
  return Printer(expression, constants, non_negative).print(expression.root());
}

} // namespace lathe::spec
