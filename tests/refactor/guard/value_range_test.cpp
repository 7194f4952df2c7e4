// Between which numbers whole numbers lie by the text that computes them.
#include "refactor/guard/value_range.h"

#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <clang/Frontend/ASTUnit.h>
#include <clang/Tooling/Tooling.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace lathe::refactor {
namespace {

using Ends = std::pair<std::int64_t, std::int64_t>;

constexpr Ends ALL{-(std::int64_t{1} << 31), (std::int64_t{1} << 31) - 1};

// Of what a function returns that has the bytes a and b, a number n, and what `before` computes first. min()
// and max() are of a header.
Ends range_of_text(const std::string& text, const std::string& before = "") {
  using namespace clang::ast_matchers;
  const std::string code = "#include \"limits.h\"\nint f(unsigned char a, signed char b, int n) { " + before +
                           " return " + text + "; }";
  const auto ast = clang::tooling::buildASTFromCodeWithArgs(
      code, {}, "input.cc", "test", std::make_shared<clang::PCHContainerOperations>(),
      clang::tooling::getClangSyntaxOnlyAdjuster(),
      {{"limits.h", "int min(int a, int b);\nint max(int a, int b);\n"}});
  const auto found = match(returnStmt(hasReturnValue(expr().bind("value"))), ast->getASTContext());
  EXPECT_EQ(found.size(), 1u) << text;
  const auto range = range_of(found.front().getNodeAs<clang::Expr>("value"), ast->getASTContext());
  EXPECT_TRUE(range) << text;
  return range ? Ends{range->least, range->most} : Ends{};
}

TEST(ValueRange, OfBytesThatArePutTogether) {
  EXPECT_EQ(range_of_text("a"), (Ends{0, 255}));
  EXPECT_EQ(range_of_text("((66 * a + 129 * a + 25 * a + 128) >> 8) + 16"), (Ends{16, 235}));
  EXPECT_EQ(range_of_text("-38 * a + 112 * b"), (Ends{-38 * 255 - 112 * 128, 112 * 127}));
  EXPECT_EQ(range_of_text("(a & 15) | 16"), (Ends{0, 31}));
  EXPECT_EQ(range_of_text("b / 2 - a % 8"), (Ends{-64 - 7, 63}));
}

TEST(ValueRange, OfLimitsAndConstants) {
  EXPECT_EQ(range_of_text("min(max(n, -8), 7) + 8"), (Ends{0, 15}));
  EXPECT_EQ(range_of_text("red + 1", "const int red = a;"), (Ends{1, 256}));
  EXPECT_EQ(range_of_text("n > 0 ? a : b"), (Ends{-128, 255}));
}

TEST(ValueRange, IsTheTypesWhereNothingIsKnown) {
  EXPECT_EQ(range_of_text("n + 1"), ALL);
  EXPECT_EQ(range_of_text("red + 1", "int red = a; red *= n;"), ALL);
  EXPECT_EQ(range_of_text("a << n"), ALL);
  EXPECT_EQ(range_of_text("a / b"), ALL);
  EXPECT_EQ(range_of_text("static_cast<unsigned char>(n)"), (Ends{0, 255}));
  EXPECT_EQ(range_of_text("static_cast<signed char>(a)"), (Ends{-128, 127}));
  // A difference below zero comes round, in types that are wider than ranges, too.
  EXPECT_EQ(range_of_text("(int)((a - 5ull) >> 60)"), ALL);
}

} // namespace
} // namespace lathe::refactor
