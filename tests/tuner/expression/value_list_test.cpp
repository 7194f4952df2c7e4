#include "tuner/expression/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lathe {
namespace {

using testing::HasSubstr;

// "1 2 3", or "error: ...".
std::string show(std::string_view text) {
  const Result<std::vector<Value>> values = parse_value_list(text);
  if (!values.ok())
    return "error: " + values.error().sentence();
  std::string result;
  for (const Value& value : *values)
    result.append(result.empty() ? "" : " ").append(to_string(value));
  return result;
}

TEST(ValueList, EvaluatesPythonLists) {
  EXPECT_EQ(show("[1, 2, 4]"), "1 2 4");
  EXPECT_EQ(show("[32 * i for i in range(1, 5)]"), "32 64 96 128");
  EXPECT_EQ(show("[1] + [2 * i for i in range(1, 4)]"), "1 2 4 6");
  EXPECT_EQ(show("list(range(1, 9, 3))"), "1 4 7");
  EXPECT_EQ(show("range(3)"), "0 1 2");
  EXPECT_EQ(show("list(range(5, 0, -2))"), "5 3 1");
  EXPECT_EQ(show("[2**i for i in range(5)]"), "1 2 4 8 16");
  EXPECT_EQ(show("[i for i in range(10) if i % 3 == 0 and i > 0]"), "3 6 9");
  EXPECT_EQ(show("[i * j for i in [1, 10] for j in range(i, i + 2)]"), "1 2 100 110");
  EXPECT_EQ(show("[i if i > 1 else 9 for i in [1, 2]]"), "9 2");
  EXPECT_EQ(show("([1] + [2])"), "1 2");
  EXPECT_EQ(show("(1, 2)"), "1 2");
  EXPECT_EQ(show("[0] * 3 + [1]"), "0 0 0 1");
  EXPECT_EQ(show("sorted([3, 1] + [2])"), "1 2 3");
  EXPECT_EQ(show("[\"a\", 'b c']"), "a b c");
  EXPECT_EQ(show("[0.5, -1, True]"), "0.5 -1 true");
  EXPECT_EQ(show("[]"), "");
  EXPECT_EQ(show("[1, 2, ]"), "1 2");
  EXPECT_EQ(show("range(9223372036854775806, 9223372036854775807)"), "9223372036854775806");
  EXPECT_EQ(show("range(9223372036854775805, 9223372036854775807, 9223372036854775807)"),
            "9223372036854775805");
}

TEST(ValueList, RefusesTheRest) {
  EXPECT_THAT(show("[1, 2"), HasSubstr("expected"));
  EXPECT_THAT(show("1, 2"), HasSubstr("expected a list"));
  EXPECT_THAT(show("[i for i in x]"), HasSubstr("expected a list"));
  EXPECT_THAT(show("[i for j in [1]]"), HasSubstr("\"i\" is unknown"));
  EXPECT_THAT(show("[i for i in [1]] + [i]"), HasSubstr("\"i\" is unknown"));
  EXPECT_THAT(show("[1] [2]"), HasSubstr("expected + or the end"));
  EXPECT_THAT(show("range(0, 5, 0)"), HasSubstr("zero"));
  EXPECT_THAT(show("range()"), HasSubstr("1 to 3 arguments"));
  EXPECT_THAT(show("range(1.5)"), HasSubstr("integer"));
  EXPECT_THAT(show("[1 / i for i in range(2)]"), HasSubstr("division by zero"));
  EXPECT_THAT(show("sorted(['a'])"), HasSubstr("only integers"));
}

TEST(ValueList, BoundsItsWork) {
  EXPECT_THAT(show("range(9223372036854775807)"), HasSubstr("more than 65535 values"));
  EXPECT_THAT(show("[1] * 9223372036854775807"), HasSubstr("more than 65535 values"));
  EXPECT_THAT(show("[] * 9223372036854775807"), testing::Eq(""));
  EXPECT_THAT(show("[i for i in range(60000) for j in range(60000) if j < 0]"), HasSubstr("too many steps"));
  EXPECT_THAT(show(std::string(100000, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(show(std::string(100000, '[')), HasSubstr("error"));
}

} // namespace
} // namespace lathe
