#include "tuner/expression/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::map<std::string, Value, std::less<>> environment = {
    {"a", std::int64_t{7}},
    {"b", std::int64_t{3}},
    {"n", std::int64_t{-7}},
    {"zero", std::int64_t{0}},
    {"x", 2.5},
    {"method", "fast"},
    {"on", true},
    {"off", false},
    {"device.max_threads_per_block", std::int64_t{1024}}};

std::optional<Value> look_up(std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : std::optional<Value>(found->second);
}

Result<Value> evaluate(std::string_view text, Dialect dialect = Dialect::lathe) {
  LATHE_TRY(const Expression expression, Expression::parse(text, dialect));
  return expression.evaluate(look_up);
}

// The value as text with its type, or "error: ...".
std::string show(std::string_view text, Dialect dialect = Dialect::lathe) {
  const Result<Value> value = evaluate(text, dialect);
  return value.ok() ? to_string(*value) : "error: " + value.error().sentence();
}

struct Case {
  std::string text, expected;
};

TEST(Expression, FollowsCInTheLatheDialect) {
  const Case cases[] = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"a / b", "2"},
      {"n / b", "-2"},
      {"n % b", "-1"},
      {"a % -3", "1"},
      {"-a", "-7"},
      {"- - 2", "2"},
      {"~0", "-1"},
      {"!a", "false"},
      {"!zero", "true"},
      {"!zero + 1", "2"},
      {"1 << 4 | 1", "17"},
      {"6 & 3 == 3", "0"}, // C: 6 & (3 == 3)
      {"5 ^ 1", "4"},
      {"-8 >> 1", "-4"},
      {"a > b ? a : b", "7"},
      {"a < b ? a : b < 1 ? 10 : 20", "20"},
      {"1 < 2 == 0 < 3", "true"}, // C: (1 < 2) == (0 < 3)
      {"0x10 + 0b11 + 7u", "26"},
      {"2 ** 10", "1024"},
      {"-2 ** 2", "-4"},
      {"2 ** -1", "0.5"},
      {"x * 2", "5.0"},
      {"5 / x", "2.0"},
      {"x > 2", "true"},
      {"1e3", "1000.0"},
      {".5 + 1.", "1.5"},
      {"device.max_threads_per_block / 32", "32"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775807", "9223372036854775807"},
      {"a && b || zero", "true"},
      {"zero || zero", "false"},
      {"true + true", "2"},
  };
  for (const Case& test : cases)
    EXPECT_EQ(show(test.text), test.expected) << test.text;
}

TEST(Expression, FollowsPythonInThePythonDialect) {
  const Case cases[] = {
      {"7 / 2", "3.5"},
      {"8 / 2", "4.0"},
      {"7 // 2", "3"},
      {"-7 // 2", "-4"},
      {"-7 % 3", "2"},
      {"7 % -3", "-2"},
      {"7.5 % -2", "-0.5"},
      {"2 ** 3 ** 2", "512"},
      {"6 & 3 == 2", "true"}, // Python: (6 & 3) == 2
      {"1 < 2 == 2", "true"}, // Python: 1 < 2 and 2 == 2
      {"32 <= a * b <= 1024", "false"},
      {"16 <= a * b <= 1024", "true"},
      {"not a == 7", "false"},
      {"not zero and not off", "true"},
      {"zero or a", "7"},
      {"b and a", "7"},
      {"a if on else b", "7"},
      {"a if off else b if off else 9", "9"},
      {"a in [1, 7]", "true"},
      {"a not in (1, 7)", "false"},
      {"a in (5,)", "false"},
      {"method in [\"fast\", 'slow']", "true"},
      {"method == 'fast'", "true"},
      {"method != 3", "true"},
      {"on == True", "true"},
      {"1 == 1.0", "true"},
      {"int(7 / 2)", "3"},
      {"math.ceil(7 / 2)", "4"},
  };
  for (const Case& test : cases)
    EXPECT_EQ(show(test.text, Dialect::python), test.expected) << test.text;
}

TEST(Expression, HasFunctions) {
  const Case cases[] = {
      {"min(3, a, 5)", "3"},     {"max(3, 2.5)", "3"},      {"abs(n)", "7"},
      {"ceil_div(7, 2)", "4"},   {"ceil_div(-7, 2)", "-3"}, {"ceil_div(8, -2)", "-4"},
      {"ceil_div(7, -2)", "-3"}, {"gcd(12, -18)", "6"},     {"gcd(0, 0)", "0"},
      {"log2(64)", "6"},         {"floor_log2(63)", "5"},   {"floor_log2(64)", "6"},
      {"floor_log2(1)", "0"},    {"is_pow2(64)", "true"},   {"is_pow2(0)", "false"},
      {"is_pow2(-8)", "false"},  {"floor(-2.5)", "-3"},     {"float(2)", "2.0"},
  };
  for (const Case& test : cases)
    EXPECT_EQ(show(test.text), test.expected) << test.text;
}

TEST(Expression, ChainsShareTheMiddleAndStopEarly) {
  EXPECT_EQ(show("1 < 2 < 3"), "true");
  EXPECT_EQ(show("3 > 2 > 2"), "false");
  EXPECT_EQ(show("2 < 1 < 1 / zero"), "false");
  EXPECT_EQ(show("off && 1 / zero"), "false");
  EXPECT_EQ(show("on || 1 / zero"), "true");
  EXPECT_EQ(show("on ? 1 : 1 / zero"), "1");
  EXPECT_EQ(show("off && unknown"), "false");
}

TEST(Expression, NeverMakesAValueOfAnError) {
  for (const char* text :
       {"9223372036854775807 + 1", "-9223372036854775808 - 1", "9223372036854775807 * 2", "2 ** 63",
        "-9223372036854775808 / -1", "-(-9223372036854775808)", "abs(-9223372036854775808)", "1 << 63",
        "1 << 64", "1 << -1", "gcd(-9223372036854775808, 2)", "10 ** 400", "3 ** 9223372036854775807"})
    EXPECT_FALSE(evaluate(text).ok()) << text;
  EXPECT_EQ(show("-9223372036854775808 % -1"), "0");
  for (Dialect dialect : {Dialect::lathe, Dialect::python})
    for (const char* text :
         {"1 / zero", "1 % zero", "1 // zero", "1.0 / zero", "x % zero", "ceil_div(1, zero)", "zero ** -1"})
      EXPECT_THAT(show(text, dialect), HasSubstr("division by zero")) << text;
  EXPECT_FALSE(evaluate("1e308 * 10").ok());
  EXPECT_FALSE(evaluate("log2(12)").ok());
  EXPECT_FALSE(evaluate("floor_log2(0)").ok());
  EXPECT_FALSE(evaluate("x & 1").ok());
  EXPECT_FALSE(evaluate("method + 1").ok());
  EXPECT_FALSE(evaluate("method < 1").ok());
  EXPECT_FALSE(evaluate("!method").ok());
}

TEST(Expression, ReportsWhereAndWhat) {
  const Case cases[] = {
      {"a +", "column 4: expected a value, found the end"},
      {"a + * b", "column 5: expected a value, found \"*\""},
      {"(a", "column 3: expected ) to close the parenthesis, found the end"},
      {"a b", "column 3: expected an operator or the end, found \"b\""},
      {"a = 3", "column 3: a single = is no operator"},
      {"foo(3)", "column 1: there is no function \"foo\""},
      {"ceil_div(3)", "ceil_div takes 2 arguments, not 1"},
      {"a ? b", "expected : of ?:"},
      {"a in 3", "expected a list"},
      {"a in (3)", "(x) is no list"},
      {"[1, 2]", "a list may stand only on the right of in"},
      {"99999999999999999999", "does not fit 64 bits"},
      {"9223372036854775808", "does not fit 64 bits"},
      {"1.2.3", "malformed number"},
      {"12abc", "malformed number"},
      {"010", "may not start with 0"},
      {"0x", "expected digits"},
      {"'abc", "no closing quote"},
      {"a $ b", "column 3: unexpected character \"$\""},
      {"", "column 1: expected a value, found the end"},
      {"a @", "unexpected character"},
      {"unknown + 1",
       "expression \"unknown + 1\": the name \"unknown\" is unknown: correct the name or define it"},
      {"1 / zero", "expression \"1 / zero\": division by zero"},
  };
  for (const Case& test : cases)
    EXPECT_THAT(show(test.text), HasSubstr(test.expected)) << test.text;
}

TEST(Expression, ListsItsNamesOnceInOrder) {
  const Expression expression = *Expression::parse("b + a * b - min(device.warp, a)");
  EXPECT_THAT(expression.names(), ElementsAre("b", "a", "device.warp"));
  EXPECT_EQ(expression.text(), "b + a * b - min(device.warp, a)");
}

TEST(Expression, RefusesWhatWouldExhaustTheStack) {
  const auto repeated = [](const std::string& part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += part;
    return text;
  };
  EXPECT_FALSE(Expression::parse(repeated("(", 100000)).ok());
  EXPECT_FALSE(Expression::parse(repeated("-", 100000) + "1").ok());
  EXPECT_FALSE(Expression::parse(repeated("not ", 100000) + "1").ok());
  EXPECT_FALSE(Expression::parse(repeated("1+", 100000) + "1").ok());
  EXPECT_FALSE(Expression::parse(repeated("1?", 100000) + "1").ok());
  EXPECT_FALSE(Expression::parse(repeated("2**", 100000) + "1").ok());
  EXPECT_FALSE(Expression::parse(repeated("a in [", 100000)).ok());
  EXPECT_TRUE(Expression::parse(repeated("a == 1 || ", 10000) + "1").ok());
  EXPECT_EQ(show(repeated("1+", 500) + "1"), "501");
}

TEST(Expression, ConvertsResults) {
  EXPECT_EQ(*Expression::parse("8 / 2", Dialect::python)->evaluate_integer(look_up), 4);
  EXPECT_EQ(*Expression::parse("a > b")->evaluate_integer(look_up), 1);
  EXPECT_FALSE(Expression::parse("x")->evaluate_integer(look_up).ok());
  EXPECT_FALSE(Expression::parse("method")->evaluate_integer(look_up).ok());
  EXPECT_TRUE(*Expression::parse("x")->evaluate_condition(look_up));
  EXPECT_FALSE(*Expression::parse("0.0")->evaluate_condition({}));
  EXPECT_FALSE(Expression::parse("method")->evaluate_condition(look_up).ok());
  EXPECT_EQ(*Expression().evaluate_integer({}), 0);
  EXPECT_EQ(*Expression(Value{"text"}).evaluate({}), Value{"text"});
}

// Every pair of small and extreme operands against 128-bit arithmetic.
TEST(Expression, ChecksIntegerArithmeticAgainstWiderIntegers) {
  __extension__ typedef __int128 Wide;
  constexpr std::int64_t low = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t high = std::numeric_limits<std::int64_t>::max();
  const std::int64_t operands[] = {low, low + 1, -3037000500, -7, -2,         -1,       0,
                                   1,   2,       5,           63, 3037000500, high - 1, high};
  for (const char* symbol : {"+", "-", "*", "/", "%"}) {
    const Expression expression = *Expression::parse(std::string("l ") + symbol + " r");
    for (std::int64_t left : operands)
      for (std::int64_t right : operands) {
        const Result<Value> value = expression.evaluate(
            [&](std::string_view name) { return std::optional<Value>(name == "l" ? left : right); });
        const Wide l = left;
        const Wide r = right;
        const bool division = *symbol == '/' || *symbol == '%';
        if (division && right == 0) {
          EXPECT_FALSE(value.ok());
          continue;
        }
        const Wide exact = *symbol == '+'   ? l + r
                           : *symbol == '-' ? l - r
                           : *symbol == '*' ? l * r
                           : *symbol == '/' ? l / r
                                            : l % r;
        const bool fits = exact >= low && exact <= high;
        ASSERT_EQ(value.ok(), fits) << left << symbol << right;
        if (fits) {
          EXPECT_EQ(std::get<std::int64_t>(*value), static_cast<std::int64_t>(exact))
              << left << symbol << right;
        }
      }
  }
}

} // namespace
} // namespace lathe
