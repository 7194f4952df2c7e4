#include "tuner/expression/expression.h"

#include "tuner/expression/expression_tree.h"
#include "tuner/expression/lexer.h"
#include "tuner/expression/parser.h"

#include <array>
#include <charconv>
#include <cmath>

namespace lathe {
namespace {

template <class... Functions> struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions> Overloaded(Functions...) -> Overloaded<Functions...>;

Error named(Error error, const std::string& text) {
  error.what = "expression " + expression::quoted(text);
  return error;
}

} // namespace

std::string to_string(const Value& value) {
  return std::visit(Overloaded{[](bool flag) { return std::string(flag ? "true" : "false"); },
                               [](std::int64_t integer) { return std::to_string(integer); },
                               [](double real) {
                                 std::array<char, 32> buffer{};
                                 const auto end =
                                     std::to_chars(buffer.data(), buffer.data() + buffer.size(), real).ptr;
                                 std::string text(buffer.data(), end);
                                 // Keep it recognisable as a real number.
                                 if (std::isfinite(real) && text.find_first_of(".e") == std::string::npos)
                                   text += ".0";
                                 return text;
                               },
                               [](const std::string& text) { return text; }},
                    value);
}

Expression::Expression(Value value) : text_(to_string(value)) {
  auto node = std::make_shared<ExpressionNode>();
  if (std::holds_alternative<std::string>(value))
    text_ = '"' + text_ + '"';
  node->value = std::move(value);
  root_ = std::move(node);
}

Result<Expression> Expression::parse(std::string_view text, Dialect dialect) {
  LATHE_TRY(std::vector<expression::Token> tokens, expression::tokenize(text));
  expression::Parser parser(text, std::move(tokens), dialect);
  LATHE_TRY(ExpressionNode root, parser.whole());
  Expression result;
  result.text_ = text;
  result.names_ = std::move(parser.names());
  result.root_ = std::make_shared<const ExpressionNode>(std::move(root));
  result.dialect_ = dialect;
  return result;
}

Result<Value> Expression::evaluate(const Lookup& lookup) const {
  const auto slot_value = [&](std::size_t slot) -> Result<Value> {
    std::optional<Value> value = lookup ? lookup(names_[slot]) : std::nullopt;
    if (!value)
      return usage_error("", "the name " + expression::quoted(names_[slot]) + " is unknown",
                         "correct the name or define it");
    return *std::move(value);
  };
  Result<Value> result = evaluate_tree(*root_, slot_value);
  return result.ok() ? std::move(result) : named(result.error(), text_);
}

Result<std::int64_t> Expression::evaluate_integer(const Lookup& lookup) const {
  LATHE_TRY(const Value value, evaluate(lookup));
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return *integer;
  if (const auto* flag = std::get_if<bool>(&value))
    return std::int64_t{*flag};
  // T1's real division makes 4.0 of 8 / 2.
  if (const auto* real = std::get_if<double>(&value);
      real != nullptr && std::trunc(*real) == *real && std::abs(*real) < 9.0e18)
    return static_cast<std::int64_t>(*real);
  return named(usage_error("", "its value " + expression::quoted(to_string(value)) + " is no integer"),
               text_);
}

Result<bool> Expression::evaluate_condition(const Lookup& lookup) const {
  LATHE_TRY(const Value value, evaluate(lookup));
  Result<bool> result = truth(value);
  return result.ok() ? result : named(result.error(), text_);
}

} // namespace lathe
