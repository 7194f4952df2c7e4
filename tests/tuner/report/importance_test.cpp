#include "tuner/report/importance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace lathe::report {
namespace {

// log(time) = f(a, b, c) over the whole product of 8 x 8 x 4 values.
std::vector<StoredEvaluation> evaluations_of(const std::function<double(double, double, double)>& log_time) {
  std::vector<StoredEvaluation> list;
  for (std::int64_t a = 0; a < 8; ++a)
    for (std::int64_t b = 0; b < 8; ++b)
      for (std::int64_t c = 0; c < 4; ++c) {
        StoredEvaluation evaluation;
        evaluation.knob_names = {"a", "b", "c"};
        evaluation.knobs = {Value{a}, Value{b}, Value{c}};
        evaluation.measurement.timing.median_us =
            std::exp(log_time(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)));
        list.push_back(std::move(evaluation));
      }
  return list;
}

// For x uniform on 0..7 the variance of k * x is k^2 * 63 / 12.
TEST(Importance, SharesOfAnAdditiveFunction) {
  const auto found = knob_importance(evaluations_of([](double a, double b, double) { return a + b / 2; }));
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->knobs[0].share, 0.8, 0.05);
  EXPECT_NEAR(found->knobs[1].share, 0.2, 0.05);
  EXPECT_NEAR(found->knobs[2].share, 0.0, 0.01);
  EXPECT_GT(found->explained, 0.9);
  for (const PairEffect& pair : found->pairs)
    EXPECT_LT(pair.share, 0.03);
}

// Neither knob does anything by itself.
TEST(Importance, AnInteractionIsFoundAsOne) {
  const auto found = knob_importance(
      evaluations_of([](double a, double b, double) { return (a < 4) == (b < 4) ? 1.0 : 0.0; }));
  ASSERT_TRUE(found);
  ASSERT_FALSE(found->pairs.empty());
  EXPECT_EQ(found->pairs[0].first, 0u);
  EXPECT_EQ(found->pairs[0].second, 1u);
  EXPECT_GT(found->pairs[0].share, 0.5);
  EXPECT_LT(found->knobs[0].share, 0.25);
  // The grid shows the four quadrants.
  EXPECT_GT(found->grid[0], found->grid[7]);
}

TEST(Importance, MarginalsFollowTheFunction) {
  const auto found = knob_importance(evaluations_of([](double a, double, double) { return 0.1 * a; }));
  ASSERT_TRUE(found);
  const std::vector<double>& times = found->knobs[0].relative_time;
  ASSERT_EQ(times.size(), 8u);
  EXPECT_NEAR(times.back() / times.front(), std::exp(0.7), 0.1);
}

// A time that no knob decides is not explained, and the forest says so.
TEST(Importance, NoiseIsNotExplained) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise;
  const auto found = knob_importance(evaluations_of([&](double, double, double) { return noise(random); }));
  ASSERT_TRUE(found);
  EXPECT_LT(found->explained, 0.2);
}

TEST(Importance, NothingIsToldOfTooFewOrEqualTimes) {
  EXPECT_FALSE(knob_importance({}));
  auto few = evaluations_of([](double a, double, double) { return a; });
  few.resize(least_configurations - 1);
  EXPECT_FALSE(knob_importance(few));
  EXPECT_FALSE(knob_importance(evaluations_of([](double, double, double) { return 1.0; })));
}

// A night's search is looked at through a sample, in no more time than a short one.
TEST(Importance, LargeSearchesAreSampled) {
  std::vector<StoredEvaluation> many;
  const auto once = evaluations_of([](double a, double b, double) { return a + b / 2; });
  for (int i = 0; i < 40; ++i)
    many.insert(many.end(), once.begin(), once.end());
  const auto found = knob_importance(many);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->configurations, 2048u);
  EXPECT_NEAR(found->knobs[0].share, 0.8, 0.05);
}

TEST(Importance, WordsAreValuesToo) {
  auto list = evaluations_of([](double a, double, double) { return a; });
  for (StoredEvaluation& evaluation : list)
    evaluation.knobs[1] = Value{std::string("mode") + to_string(evaluation.knobs[1])};
  const auto found = knob_importance(list);
  ASSERT_TRUE(found);
  EXPECT_GT(found->knobs[0].share, 0.9);
}

} // namespace
} // namespace lathe::report
