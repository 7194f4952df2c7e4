// Random input: the parser must answer, never crash, and never accept what it cannot evaluate safely.
#include "tuner/expression/expression.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

namespace lathe {
namespace {

void feed(const std::string& text) {
  const Lookup lookup = [](std::string_view name) -> std::optional<Value> {
    switch (name.size() % 4) {
    case 0:
      return Value{std::int64_t{-9223372036854775807}};
    case 1:
      return Value{std::int64_t{3}};
    case 2:
      return Value{0.5};
    default:
      return std::nullopt;
    }
  };
  for (Dialect dialect : {Dialect::lathe, Dialect::python}) {
    const Result<Expression> expression = Expression::parse(text, dialect);
    if (!expression.ok()) {
      EXPECT_FALSE(expression.error().why.empty());
      continue;
    }
    (void)expression->evaluate(lookup).ok();
    (void)expression->evaluate_integer(lookup).ok();
    // Whoever parsed a text parses it again with the same result.
    EXPECT_EQ(Expression::parse(expression->text(), dialect)->names(), expression->names());
  }
  (void)parse_value_list(text).ok();
}

TEST(ExpressionFuzz, SurvivesRandomBytes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text)
      c = static_cast<char>(random());
    feed(text);
  }
}

TEST(ExpressionFuzz, SurvivesRandomTokens) {
  constexpr std::array<const char*, 65> tokens = {
      "a",     "bb",       "ccc",         "dddd",      "0",
      "1",     "2",        "63",          "64",        "9223372036854775807",
      "0.5",   "1e3",      "'s'",         "+",         "-",
      "*",     "/",        "//",          "%",         "**",
      "<<",    ">>",       "&",           "|",         "^",
      "~",     "!",        "&&",          "||",        "and",
      "or",    "not",      "in",          "<",         "<=",
      ">",     ">=",       "==",          "!=",        "?",
      ":",     "(",        ")",           "[",         "]",
      ",",     "if",       "else",        "for",       "range(",
      "min(",  "max(",     "abs(",        "ceil_div(", "gcd(",
      "log2(", "is_pow2(", "floor_log2(", "int(",      "float(",
      "list(", "x.y",      "true",        "=",         "9223372036854775808"};
  std::mt19937_64 random(2);
  for (int round = 0; round < 60000; ++round) {
    std::string text;
    for (std::size_t i = random() % 14 + 1; i > 0; --i)
      text += std::string(tokens[random() % tokens.size()]) + (random() % 8 != 0 ? " " : "");
    feed(text);
  }
}

// Grows valid expressions, so that evaluation is reached often.
std::string grow(std::mt19937_64& random, int depth) {
  constexpr std::array<const char*, 18> operators = {"+", "-", "*", "/", "%",  "//", "**", "<<", ">>",
                                                     "&", "|", "^", "<", "<=", "==", "!=", "&&", "or"};
  constexpr std::array<const char*, 7> leaves = {"a", "bb", "dddd", "0", "7", "64", "9223372036854775807"};
  if (depth == 0 || random() % 6 == 0)
    return leaves[random() % leaves.size()];
  const std::string left = grow(random, depth - 1);
  const std::string right = grow(random, depth - 1);
  switch (random() % 6) {
  case 0:
    return "-(" + left + ")";
  case 1:
    return "min(" + left + ", " + right + ")";
  case 2:
    return "(" + left + " ? " + right + " : " + grow(random, depth - 1) + ")";
  default:
    return "(" + left + " " + operators[random() % operators.size()] + " " + right + ")";
  }
}

TEST(ExpressionFuzz, EvaluatesGrownExpressionsSafely) {
  std::mt19937_64 random(3);
  int parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = grow(random, 4);
    parsed += Expression::parse(text).ok() ? 1 : 0;
    feed(text);
  }
  EXPECT_EQ(parsed, 20000);
}

} // namespace
} // namespace lathe
