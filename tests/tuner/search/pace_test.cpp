#include "tuner/search/pace.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

TEST(Pace, FewAreUnderWayBeforeResultsCount) {
  const Pace pace(16);
  EXPECT_LE(pace.under_way(0), 16u);
  EXPECT_EQ(pace.together(0), 1u);
  EXPECT_EQ(pace.under_way(1000), 32u);
  EXPECT_EQ(pace.together(1000), 16u);
}

TEST(Pace, GrowsAndKeepsMoreUnderWayThanAreMeasured) {
  for (const std::size_t most : {1u, 4u, 16u, 32u}) {
    const Pace pace(most);
    for (std::size_t known = 0; known < 500; ++known) {
      EXPECT_LE(pace.under_way(known), pace.under_way(known + 1));
      EXPECT_LE(pace.together(known), pace.together(known + 1));
      EXPECT_LE(pace.together(known), pace.under_way(known));
      EXPECT_LE(pace.under_way(known), 2 * most);
    }
  }
}

TEST(Pace, WhereNothingIsLearnedNothingIsWaitedFor) {
  EXPECT_EQ(Pace::blind(16).under_way(0), 128u);
  EXPECT_EQ(Pace::blind(16).together(0), 16u);
}

} // namespace
} // namespace lathe
