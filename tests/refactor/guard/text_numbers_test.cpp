#include "refactor/guard/text_numbers.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

TEST(TextNumbers, OwnOnesAreThoseThatTheRawKernelLacks) {
  EXPECT_EQ(own_numbers("x % 96 + y / 32 + 1.5f + 40000", "x / 32"), std::vector<std::int64_t>{96});
}

TEST(TextNumbers, ThoseThatDecideHaveFewDigitsAndRealOnesComeFirst) {
  EXPECT_EQ(deciding_numbers("min(x / 127.f, 6.0f) + 0.5 * 0.044715f + 1e-8f + 448 + 1e9f + 0"),
            (std::vector<double>{0.5, 6, 127, 448}));
}

TEST(TextNumbers, AreAFew) {
  EXPECT_EQ(deciding_numbers("1 2 3 4 5 6 7 8 9 10 2.5f").size(), 8U);
  EXPECT_EQ(deciding_numbers("1 2 3 4 5 6 7 8 9 10 2.5f").front(), 2.5);
}

} // namespace
} // namespace lathe::refactor
