#include "synthetic.h"
#include "tuner/search/replay.h"
#include "tuner/search/replay_plot.h"
#include "tuner/search/replay_prior.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

TEST(Replay, RandomMatchesItsExactExpectation) {
  const RecordedSpace space = synthetic_space();
  ReplayOptions options{.technique = "random", .budget = 50, .seeds = 200};
  auto result = replay(space, options);
  ASSERT_TRUE(result.ok());
  for (const std::size_t n : {5u, 20u, 50u})
    EXPECT_NEAR(result->mean_fraction(n), random_fraction(space, n), 4 * result->standard_error(n) + 1e-9);
  EXPECT_NEAR(performance_score(space, *result), 0, 0.15);
  EXPECT_DOUBLE_EQ(random_fraction(space, space.records.size()), 1);
}

// The default is ahead of random by more than chance, in the mean over seeds.
TEST(Replay, TheDefaultBeatsRandom) {
  const RecordedSpace space = synthetic_space();
  auto result = replay(space, {.budget = 60, .seeds = 12});
  ASSERT_TRUE(result.ok());
  for (const std::size_t n : {30u, 60u})
    EXPECT_GT(result->mean_fraction(n) - 3 * result->standard_error(n), random_fraction(space, n)) << n;
  EXPECT_GT(performance_score(space, *result), 0.2);
}

TEST(Replay, DoesNotDependOnTheNumberOfThreads) {
  const RecordedSpace space = synthetic_space();
  ReplayOptions options{.budget = 20, .seeds = 4};
  options.threads = 1;
  auto alone = replay(space, options);
  options.threads = 4;
  auto together = replay(space, options);
  ASSERT_TRUE(alone.ok() && together.ok());
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(alone->runs[i].best, together->runs[i].best);
}

TEST(Replay, AGoodPriorHelpsAndABadOneIsLetGo) {
  const RecordedSpace space = synthetic_space();
  RecordedSpace related = space, misleading = space;
  double worst = 0;
  for (const auto& record : space.records)
    worst = std::max(worst, record.cost);
  for (std::size_t i = 0; i < space.records.size(); ++i) {
    related.records[i].cost =
        3 * std::pow(space.records[i].cost, 1.3) * (1 + 0.05 * std::sin(static_cast<double>(i)));
    misleading.records[i].cost = 1 + worst - space.records[i].cost;
    misleading.records[i].succeeded = true;
  }
  ReplayOptions options{.budget = 80, .seeds = 8};
  auto cold = replay(space, options);
  options.prior = *prior_from(related, space.parameters);
  auto helped = replay(space, options);
  options.prior = *prior_from(misleading, space.parameters);
  auto misled = replay(space, options);
  ASSERT_TRUE(cold.ok() && helped.ok() && misled.ok());
  EXPECT_GT(helped->mean_fraction(10), cold->mean_fraction(10));
  EXPECT_GT(misled->mean_fraction(80), random_fraction(space, 80));
}

// Each seed has a history of its own, of the length asked for; what is spoilt keeps its costs.
TEST(Replay, PriorsAreCutDownAndSpoilt) {
  const RecordedSpace space = synthetic_space();
  const auto costs = [](const std::vector<Observation>& prior) {
    std::vector<double> sorted;
    for (const Observation& observation : prior)
      if (observation.succeeded)
        sorted.push_back(observation.cost);
    std::ranges::sort(sorted);
    return sorted;
  };
  const auto plain = *choose_priors(space, space.parameters, {.history = 12}, 2);
  ASSERT_EQ(plain.size(), 2u);
  EXPECT_EQ(plain[0].size(), 12u);
  EXPECT_NE(costs(plain[0]), costs(plain[1]));
  for (const PriorChange change : {PriorChange::shuffled, PriorChange::permuted}) {
    const auto spoilt = *choose_priors(space, space.parameters, {.history = 12, .change = change}, 2);
    EXPECT_EQ(costs(spoilt[0]), costs(plain[0]));
    bool differs = false;
    for (std::size_t i = 0; i < spoilt[0].size(); ++i)
      differs |= spoilt[0][i].point != plain[0][i].point;
    EXPECT_TRUE(differs);
  }
  const auto inverted = *choose_priors(space, space.parameters, {.change = PriorChange::inverted}, 1);
  ASSERT_EQ(inverted[0].size(), space.records.size());
  const auto least = std::ranges::min_element(
      space.records, {}, [](const auto& record) { return record.succeeded ? record.cost : 1e9; });
  EXPECT_NEAR(inverted[0][static_cast<std::size_t>(least - space.records.begin())].cost,
              costs(inverted[0]).back(), 1e-9);
}

TEST(Replay, ABudgetBeyondTheSpaceEndsAtTheOptimum) {
  RecordedSpace space = synthetic_space();
  space.records.resize(30);
  for (auto& record : space.records)
    record.succeeded = true;
  auto result = replay(space, {.budget = 100, .seeds = 2});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->runs[0].best.size(), 30u);
  EXPECT_DOUBLE_EQ(result->mean_fraction(100), 1);
  EXPECT_TRUE(result->evaluations_to(result->runs[0], 0.95).has_value());
}

TEST(Replay, UnknownTechniqueIsAnError) {
  EXPECT_FALSE(replay(synthetic_space(), {.technique = "none", .budget = 5, .seeds = 2}).ok());
}

TEST(Replay, ThePlotEscapesItsTitles) {
  const std::string svg = plot_replay({{"a<b", {0.1, 0.5, 1}, {0.1, 0.2, 0.3}}}, "t & u");
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
  EXPECT_NE(svg.find("t &amp; u"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

// The synthetic space, with a knob that only makes evaluating take ten times as long.
TEST(Replay, WhatTakesLongIsEvaluatedLessOften) {
  const RecordedSpace plain = synthetic_space();
  RecordedSpace space = plain;
  space.parameters.push_back(integers("slow", {0, 1}));
  space.records.clear();
  for (const std::uint16_t slow : std::initializer_list<std::uint16_t>{0, 1})
    for (RecordedSpace::Record record : plain.records) {
      record.point.push_back(slow);
      record.seconds = slow ? 10 : 1;
      space.records.push_back(std::move(record));
    }
  const auto seconds = [&](double weight) {
    double sum = 0;
    const auto result = replay(space, {.budget = 60, .seeds = 6, .effort_weight = weight});
    for (const ReplayRun& run : result->runs)
      sum += run.seconds.back();
    return sum;
  };
  EXPECT_LT(seconds(1), 0.7 * seconds(0));
  // Nothing is known of the seconds: the search is the one that does not ask for them.
  for (RecordedSpace::Record& record : space.records)
    record.seconds = 0;
  const auto with = replay(space, {.budget = 40, .seeds = 2, .effort_weight = 1});
  const auto without = replay(space, {.budget = 40, .seeds = 2, .effort_weight = 0});
  for (std::size_t run = 0; run < 2; ++run)
    EXPECT_EQ(with->runs[run].best, without->runs[run].best);
}

} // namespace
} // namespace lathe
