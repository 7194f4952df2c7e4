#include "tests/tuner/app/scripted_backend.h"
#include "tuner/app/finalists.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

KnobValues block(std::int64_t value) {
  return {Value{value}};
}

// The configuration's number is its time beside a raw kernel of 100 us.
class Finalists : public testing::Test {
protected:
  Finalists() {
    backend_.by_problem = [](const std::string&, std::int64_t value) { return static_cast<double>(value); };
  }

  FinalResult compare(const std::vector<double>& searched, int most = 10, double code_band = 0) {
    std::vector<Ranked> ranked;
    for (const double us : searched)
      ranked.push_back({block(static_cast<std::int64_t>(us)), us});
    return compare_finalists(backend_, ranked, {"BLOCK"}, {most, code_band});
  }

  ScriptedBackend backend_;
};

TEST_F(Finalists, TheFastestWins) {
  const FinalResult result = compare({82, 80, 81});
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->knobs, block(80));
  EXPECT_EQ(backend_.compared, 3 + 1); // and once more
}

TEST_F(Finalists, WhatTheSearchSawFarBehindIsNotMeasuredAgain) {
  ASSERT_TRUE(compare({80, 83, 85, 90}).winner);
  EXPECT_EQ(backend_.compared, 2 + 1); // 80 and 83
}

TEST_F(Finalists, AreNoMoreThanAsked) {
  ASSERT_TRUE(compare({80, 81, 82, 83}, 2).winner);
  EXPECT_EQ(backend_.compared, 2 + 1);
}

TEST_F(Finalists, LaterOnesHaveToBeatTheBestSoFarButTheConfirmationIsMeasuredToItsEnd) {
  ASSERT_TRUE(compare({80, 81}).winner);
  ASSERT_EQ(backend_.ratios_to_beat.size(), 3);
  EXPECT_EQ(backend_.ratios_to_beat[0], 0);
  EXPECT_NEAR(backend_.ratios_to_beat[1], 100.0 / 80 - 0.001, 1e-12); // the lower end of the interval
  EXPECT_EQ(backend_.ratios_to_beat[2], 0);
}

TEST_F(Finalists, WhatDoesNotGainIsNothingToBeat) {
  EXPECT_FALSE(compare({101, 102}).winner);
  EXPECT_EQ(backend_.ratios_to_beat, (std::vector<double>{0, 0}));
}

TEST_F(Finalists, OneThatFailsBesideTheRawKernelIsNamed) {
  backend_.refused = 80;
  const FinalResult result = compare({80, 81});
  ASSERT_TRUE(result.winner);
  EXPECT_EQ(result.winner->knobs, block(81));
  ASSERT_EQ(result.rejected.size(), 1);
  EXPECT_NE(result.rejected[0].find("BLOCK=80"), std::string::npos) << result.rejected[0];
}

TEST_F(Finalists, AGainWithinWhatEqualCodeShowsIsNone) {
  EXPECT_FALSE(compare({98}, 10, 0.03).winner);
  EXPECT_TRUE(compare({96}, 10, 0.03).winner);
}

TEST_F(Finalists, NothingRanNothingWins) {
  EXPECT_FALSE(compare({}).winner);
  EXPECT_EQ(backend_.compared, 0);
}

} // namespace
} // namespace lathe
