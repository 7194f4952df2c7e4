#include "refactor/knobs/geometry.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

Expression parse(const std::string& text) {
  auto parsed = Expression::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : Expression();
}

std::int64_t value(const Expression& expression, std::int64_t n, std::int64_t block) {
  const auto result = expression.evaluate_integer([&](std::string_view name) -> std::optional<Value> {
    if (name == "n")
      return Value{n};
    if (name == "BLOCK")
      return Value{block};
    return std::nullopt;
  });
  EXPECT_TRUE(result.ok()) << expression.text();
  return result.ok() ? *result : -1;
}

TEST(Geometry, FormattingKeepsTheMeaning) {
  for (const char* text :
       {"n - (4 - 3)", "(n + 3) / 4 * 4", "n % 7 == 0 ? n << 2 : -n", "min(n, 3) * (n & 12 | 1)",
        "ceil_div(n, 8) + max(n, 5)", "!(n > 3) || n <= 9 && n != 4 ? 1 : 2"}) {
    const Expression expression = parse(text);
    const Expression again = parse(canonical(expression));
    for (const std::int64_t n : {0, 1, 4, 5, 12, 77})
      EXPECT_EQ(value(expression, n, 1), value(again, n, 1)) << text << " became " << again.text();
  }
}

TEST(Geometry, ConstantsAreFolded) {
  EXPECT_EQ(constant_of(parse("(256) / 2")), 128);
  EXPECT_FALSE(constant_of(parse("n / n")).has_value());
}

TEST(Geometry, CeilingDivisionsFollowTheDivisor) {
  for (const char* grid : {"(n + 255) / 256", "(n + 256 - 1) / 256", "(n - 1 + (256)) / (256)",
                           "ceil_div(n, 256)", "n / 256 + (n % 256 > 0)", "(0 != n % 256) + n / 256",
                           "n / 256 + (n % 256 ? 1 : 0)", "n / 256 + (!(n % 256) ? 0 : 1)",
                           "n % 256 == 0 ? n / 256 : n / 256 + 1", "n % 256 ? 1 + n / 256 : n / 256"}) {
    int count = 0;
    const auto changed = replace_ceil_div(parse(grid), parse("256"), "BLOCK", count);
    ASSERT_TRUE(changed.ok());
    EXPECT_EQ(count, 1) << grid;
    for (const std::int64_t n : {1, 127, 128, 129, 4096})
      EXPECT_EQ(value(*changed, n, 128), (n + 127) / 128) << grid;
  }
}

TEST(Geometry, CeilingDivisionsByAFormula) {
  int count = 0;
  const auto changed = replace_ceil_div(parse("min((n + min(n, 64) - 1) / min(n, 64), 65535)"),
                                        parse("min(n, 64)"), "BLOCK", count);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(count, 1);
  EXPECT_EQ(value(*changed, 1000, 32), 32);
}

TEST(Geometry, OtherDivisionsStay) {
  for (const char* grid : {"n / 256", "(n + 127) / 256", "(n + 256) / 256", "(n + 255) / 128",
                           "n / 256 + (n % 128 > 0)", "n / 256 + (m % 256 > 0)", "n / 256 + n % 256",
                           "n / 256 + (n % 256 == 0)", "n / 256 + (n % 256 ? 0 : 1)",
                           "n % 256 ? n / 256 : n / 256 + 1", "n / 256 + (n % 256 > 1)", "n / 256 + 1"}) {
    int count = 0;
    const auto same = replace_ceil_div(parse(grid), parse("256"), "BLOCK", count);
    ASSERT_TRUE(same.ok());
    EXPECT_EQ(count, 0) << grid;
    EXPECT_EQ(same->text(), grid);
  }
}

TEST(Geometry, SubtreesAreReplacedWholly) {
  int count = 0;
  const auto changed =
      replace_subtree(parse("((n / 8 + 31) / 32 + n / 8) * 4"), parse("n / 8"), "BLOCK", count);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(count, 2);
  EXPECT_EQ(value(*changed, 4096, 64), (95 / 32 + 64) * 4);
}

} // namespace
} // namespace lathe::refactor
