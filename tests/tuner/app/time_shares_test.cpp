#include "tuner/app/time_shares.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

TEST(TimeShares, FirstEverybodyGetsHalfOfAnEqualShare) {
  const TimeShares shares(10);
  EXPECT_DOUBLE_EQ(shares.slice(1000, 10, 0), 50);
  EXPECT_DOUBLE_EQ(shares.slice(150, 10, 0), 10); // the least slice, as 15 suffice for it
  EXPECT_DOUBLE_EQ(shares.slice(40, 10, 0), 4);   // what there is
  EXPECT_GT(shares.slice(0, 10, 0), 0);           // one portion
  EXPECT_LT(shares.slice(0, 10, 0), 0.01);
}

TEST(TimeShares, WhatFinishingTakesIsKeptBack) {
  TimeShares shares(10);
  shares.add_finishing(2);
  shares.add_finishing(4);
  EXPECT_DOUBLE_EQ(shares.slice(1000, 10, 0), (1000 - 10 * 3) / 10.0 / 2);
  EXPECT_DOUBLE_EQ(shares.slice(1000, 10, 5),
                   (1000 - 15 * 3) / 10.0 / 2); // not seen yet: as much as finishing
  shares.add_assessment(1);
  EXPECT_DOUBLE_EQ(shares.slice(1000, 10, 5), (1000 - 10 * 3 - 5) / 10.0 / 2);
  EXPECT_LT(shares.slice(29, 10, 0), 0.01);
}

// What hundreds of searches need for finishing is more than what is left, and yet some of them can go on.
TEST(TimeShares, AsManyGoOnAsCan) {
  TimeShares shares(10);
  EXPECT_EQ(shares.able_to_go_on(100), 10u);
  shares.add_finishing(2);
  EXPECT_EQ(shares.able_to_go_on(100), 8u);
  EXPECT_GE(shares.slice(100, shares.able_to_go_on(100), 0), 10);
  EXPECT_EQ(shares.able_to_go_on(11.9), 0u);
  EXPECT_EQ(shares.able_to_go_on(-5), 0u);
}

TEST(TimeShares, CountersGetATenthOfTheTimeHalfOfItForWhatWantsAnExplanation) {
  TimeShares shares(10);
  EXPECT_TRUE(shares.affords_counters(0, false)); // the first
  shares.add_counters(2);
  EXPECT_FALSE(shares.affords_counters(19, true));
  EXPECT_TRUE(shares.affords_counters(20, true));
  EXPECT_FALSE(shares.affords_counters(39, false));
  EXPECT_TRUE(shares.affords_counters(40, false));
}

TEST(TimeShares, ChoosingAmongCandidatesTakesAFifthOfWhatIsLeft) {
  const TimeShares shares(10);
  EXPECT_DOUBLE_EQ(shares.choosing(200, 40), 1);
  EXPECT_DOUBLE_EQ(shares.choosing(200, 0), 40);
  EXPECT_DOUBLE_EQ(shares.choosing(-3, 40), 0);
}

// Fifty problems of which each takes longer to finish than its slice: the last of them is reached in time.
TEST(TimeShares, ABudgetReachesTheLastProblem) {
  TimeShares shares(10);
  double left = 240;
  for (std::size_t waiting = 50; waiting > 0; --waiting) {
    ASSERT_GT(left, 0) << waiting << " wait";
    left -= shares.slice(left, waiting, 20) + 2.5;
    shares.add_finishing(2.5);
  }
  EXPECT_GT(left, -0.01);
}

} // namespace
} // namespace lathe
