#include "tuner/measure/statistics.h"

#include <gtest/gtest.h>
#include <random>

namespace lathe {
namespace {

TEST(MedianInterval, KnownRanks) {
  // Order statistics around the median that hold it with at least 95 %: published tables of the sign test.
  const auto ranks = [](int n) {
    std::vector<double> samples;
    for (int i = n; i > 0; --i)
      samples.push_back(i);
    return median_interval(samples);
  };
  for (const auto& [n, low] : {std::pair{6, 1},
                               {7, 1},
                               {8, 1},
                               {9, 2},
                               {10, 2},
                               {12, 3},
                               {15, 4},
                               {20, 6},
                               {25, 8},
                               {30, 10},
                               {50, 18}}) {
    const MedianInterval found = ranks(n);
    EXPECT_EQ(found.low, low) << n;
    EXPECT_EQ(found.high, n + 1 - low) << n;
    EXPECT_EQ(found.median, (n + 1) / 2.0) << n;
  }
  EXPECT_EQ(ranks(3).low, 1);
  EXPECT_EQ(ranks(3).high, 3);
  EXPECT_EQ(ranks(1).median, 1);
}

TEST(MedianInterval, CoversTheTruth) {
  std::mt19937 random(5);
  std::lognormal_distribution<double> noise(0, 0.3);
  int covered = 0;
  constexpr int ROUNDS = 4000;
  for (int round = 0; round < ROUNDS; ++round) {
    std::vector<double> samples(15);
    for (double& sample : samples)
      sample = noise(random);
    const MedianInterval found = median_interval(samples);
    covered += found.low <= 1 && 1 <= found.high; // the median of a log-normal around 0 is 1
  }
  EXPECT_GE(covered, ROUNDS * 0.95);
}

TEST(Outcome, NamesRoundTrip) {
  for (const Outcome outcome :
       {Outcome::ok, Outcome::compile_error, Outcome::resource_limit, Outcome::runtime_error,
        Outcome::timeout, Outcome::crashed, Outcome::wrong_result, Outcome::under_floor})
    EXPECT_EQ(parse_outcome(to_string(outcome)), outcome);
  EXPECT_FALSE(parse_outcome("fine").has_value());
}

} // namespace
} // namespace lathe
