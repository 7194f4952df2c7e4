// The one expression language of Lathe: conditions, launch geometry, shapes and cost models.
//
// C operators (?: || && == != < <= > >= + - * / % ! unary-minus, parentheses, bit operators & | ^ << >> ~),
// the words `and or not in`, chained comparisons (a < b < c means a < b and b < c), lists in memberships and
// as what sum, any, all and their like are of, string literals, true/false, and functions;
// docs/expressions.md lists all, and what Python's dialect adds. Integers are 64-bit and checked: overflow
// and division by zero are errors, never a value. Names may contain dots (`device.max_threads_per_block`).
#pragma once

#include "tuner/base/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lathe {

using Value = std::variant<bool, std::int64_t, double, std::string>;

std::string to_string(const Value& value);

enum class Dialect {
  lathe,  // `/` on integers is C's: truncation towards zero; `%` takes the sign of the dividend
  python, // T1 files: `/` is real division, `//` floors, `%` takes the sign of the divisor, `**` is power
};

// Looks a name up; nothing when it is unknown.
using Lookup = std::function<std::optional<Value>(std::string_view name)>;

struct ExpressionNode; // the syntax tree; tuner/space compiles it further

// A parsed expression. Cheap to copy (shares its tree), safe to use from several threads.
class Expression {
public:
  // Fails with the column and what was expected there.
  static Result<Expression> parse(std::string_view text, Dialect dialect = Dialect::lathe);
  // A constant.
  explicit Expression(Value value);
  Expression() : Expression(Value{std::int64_t{0}}) {}

  const std::string& text() const { return text_; }
  // Every name that it mentions, in order of appearance, each once.
  const std::vector<std::string>& names() const { return names_; }
  const ExpressionNode& root() const { return *root_; }
  Dialect dialect() const { return dialect_; }
  // The same text in the same dialect.
  bool operator==(const Expression& other) const {
    return text_ == other.text_ && dialect_ == other.dialect_;
  }

  // Fails on an unknown name, a type error, overflow or division by zero, naming the expression.
  Result<Value> evaluate(const Lookup& lookup) const;
  Result<std::int64_t> evaluate_integer(const Lookup& lookup) const;
  // Python's truth for numbers: non-zero is true.
  Result<bool> evaluate_condition(const Lookup& lookup) const;

private:
  std::string text_;
  std::vector<std::string> names_;
  std::shared_ptr<const ExpressionNode> root_;
  Dialect dialect_ = Dialect::lathe;
};

// T1's `Values` strings are Python list expressions: "[32 * i for i in range(1, 32)]", "[1] + [2 * i for i in
// ...]", "list(range(1, 9))", "[2**i for i in range(5)]". Evaluates that subset.
Result<std::vector<Value>> parse_value_list(std::string_view text);

} // namespace lathe
