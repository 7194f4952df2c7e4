#include "refactor/knobs/polynomial.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

Polynomial atom(const char* name) {
  return Polynomial::atom(name);
}
Polynomial number(std::int64_t value) {
  return Polynomial::constant(value);
}

TEST(Polynomial, NormalFormDoesNotDependOnTheOrderOfWriting) {
  const Polynomial left = (atom("t") + number(32) * atom("w")) * atom("v");
  const Polynomial right = atom("v") * atom("t") + atom("w") * atom("v") * number(32);
  EXPECT_EQ(left, right);
  EXPECT_EQ(left.text(), right.text());
  EXPECT_FALSE(left == right + number(1));
}

TEST(Polynomial, TermsCancel) {
  EXPECT_TRUE((atom("a") - atom("a")).is_zero());
  EXPECT_EQ((atom("a") + number(3) - atom("a")).as_constant(), 3);
  EXPECT_EQ(Polynomial().as_constant(), 0);
  EXPECT_FALSE(atom("a").as_constant().has_value());
}

TEST(Polynomial, QuotientTakesTheFactorOut) {
  const Polynomial index = atom("b") * atom("i") * atom("c") + atom("t") * atom("c") + number(7);
  EXPECT_EQ(index.quotient_by("b"), atom("i") * atom("c"));
  EXPECT_EQ(index.quotient_by("t"), atom("c"));
  EXPECT_EQ(index.without("b"), atom("t") * atom("c") + number(7));
  EXPECT_TRUE(index.quotient_by("absent")->is_zero());
  EXPECT_FALSE((atom("t") * atom("t")).quotient_by("t").has_value());
}

TEST(Polynomial, MentionsLooksInsideAtoms) {
  const Polynomial warp = atom("(threadIdx.x/32)") * number(4);
  EXPECT_TRUE(warp.mentions("threadIdx.x"));
  EXPECT_FALSE(warp.mentions("threadIdx.y"));
  EXPECT_EQ(warp.atoms(), std::vector<std::string>{"(threadIdx.x/32)"});
}

TEST(Polynomial, ArithmeticWrapsInsteadOfOverflowing) {
  const Polynomial large = number(INT64_MAX) * atom("a");
  EXPECT_EQ((large + atom("a")).quotient_by("a")->as_constant(), INT64_MIN);
}

} // namespace
} // namespace lathe::refactor
