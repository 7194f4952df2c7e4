#include "refactor/guard/text_numbers.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

TEST(TextNumbers, OwnOnesAreThoseThatTheRawKernelLacks) {
  EXPECT_EQ(own_numbers("x % 96 + y / 32 + 1.5f + 40000", "x / 32"), std::vector<std::int64_t>{96});
}

TEST(TextNumbers, SizesThatTellMoreThanSoManyHalvingsServe) {
  EXPECT_EQ(telling_sizes({8, 11, 96}), (std::vector<std::int64_t>{8, 11, 96, 2049}));
}

TEST(TextNumbers, ThoseThatDecideHaveFewDigitsAndRealOnesComeFirst) {
  EXPECT_EQ(deciding_numbers("min(x / 127.f, 6.0f) + 0.5 * 0.044715f + 1e-8f + 448 + 1e9f + 0"),
            (std::vector<double>{0.5, 6, 127, 448}));
}

TEST(TextNumbers, AreAFew) {
  EXPECT_EQ(deciding_numbers("1 2 3 4 5 6 7 8 9 10 2.5f").size(), 8U);
  EXPECT_EQ(deciding_numbers("1 2 3 4 5 6 7 8 9 10 2.5f").front(), 2.5);
}

TEST(TextNumbers, ThoseThatMayDivideAreIntegersOneOfThemLarge) {
  EXPECT_EQ(dividing_numbers("(x + 719468) / 146097 % 4 - 2 + 0.5f"),
            (std::vector<std::int64_t>{4, 146097, 719468}));
  EXPECT_TRUE(dividing_numbers("x / 32 % 7 * 99").empty());
}

} // namespace
} // namespace lathe::refactor
