#include "synthetic.h"

#include "tuner/search/engine.h"
#include "tuner/search/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace lathe {
namespace {

class EveryTechnique : public testing::TestWithParam<std::string> {};

std::unique_ptr<Search> search_of(std::vector<Parameter> parameters, const std::vector<Point>& points,
                                  const std::string& technique, std::uint64_t seed = 1) {
  auto search = search::make_search(search::domain_of(std::move(parameters), points), {technique, seed, {}});
  EXPECT_TRUE(search.ok());
  return std::move(*search);
}

bool all(const Point&) {
  return true;
}

// Evaluates until nothing is left; returns the points in the order proposed.
std::vector<Point> run_out(Search& search, std::size_t batch,
                           const std::function<Observation(const Point&)>& evaluate) {
  std::vector<Point> order;
  for (;;) {
    const std::vector<Point> points = search.ask(batch);
    for (const Point& point : points)
      order.push_back(point);
    for (const Point& point : points)
      search.tell(evaluate(point));
    if (points.size() < batch)
      return order;
  }
}

TEST_P(EveryTechnique, ExhaustsTinyAndOddSpacesWithoutRepeating) {
  const std::vector<std::vector<Parameter>> spaces = {
      {integers("only", {3})},
      {integers("one", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})},
      {{"mode", {Value{std::string("x")}, Value{std::string("y")}, Value{std::string("z")}}},
       {"on", {Value{false}, Value{true}}},
       {"scale", {Value{0.5}, Value{1.0}, Value{-2.0}}}},
      {integers("fixed", {1}), integers("a", {4, 1, 2}), integers("b", {0, 1, 2, 3, 4, 5, 6, 7})}};
  for (const auto& parameters : spaces) {
    const std::vector<Point> points = points_of(parameters, all);
    for (const std::size_t batch : {1u, 4u}) {
      auto search = search_of(parameters, points, GetParam());
      const auto order = run_out(*search, batch, [](const Point& point) {
        double cost = 1;
        for (std::uint16_t value : point)
          cost += value;
        return Observation{point, point.back() % 3 != 2, cost};
      });
      EXPECT_EQ(order.size(), points.size());
      EXPECT_EQ(std::set<Point>(order.begin(), order.end()).size(), points.size());
      EXPECT_TRUE(search->ask(3).empty());
    }
  }
}

TEST_P(EveryTechnique, SurvivesFailuresTiesAndStrangeCosts) {
  const RecordedSpace space = synthetic_space();
  std::vector<Point> points;
  for (const auto& record : space.records)
    points.push_back(record.point);
  const std::vector<std::function<Observation(const Point&)>> evaluations = {
      [](const Point& point) { return Observation{point, false, 0}; },
      [](const Point& point) { return Observation{point, true, 1}; },
      [](const Point& point) { return Observation{point, true, 0}; },
      [](const Point& point) { return Observation{point, point[0] % 2 == 0, 1e-300 * (1 + point[1])}; },
      [](const Point& point) { return Observation{point, true, point[2] == 0 ? 1e300 : 1.0 + point[1]}; }};
  for (const auto& evaluate : evaluations) {
    auto search = search_of(space.parameters, points, GetParam());
    std::set<Point> seen;
    for (int i = 0; i < 60; ++i)
      for (const Point& point : search->ask(1)) {
        EXPECT_TRUE(seen.insert(point).second);
        search->tell(evaluate(point));
      }
    EXPECT_EQ(seen.size(), 60u);
  }
}

TEST_P(EveryTechnique, DependsOnTheSeedAndTheTellsOnly) {
  const RecordedSpace space = synthetic_space();
  std::vector<Point> points;
  std::map<Point, const RecordedSpace::Record*> records;
  for (const auto& record : space.records) {
    points.push_back(record.point);
    records[record.point] = &record;
  }
  // `split`: asks for a batch one point at a time, as several evaluators would.
  const auto sequence = [&](std::uint64_t seed, bool split) {
    auto search = search_of(space.parameters, points, GetParam(), seed);
    std::vector<Point> order;
    for (int round = 0; round < 12; ++round) {
      std::vector<Point> batch;
      if (split)
        for (int i = 0; i < 4; ++i)
          batch.push_back(search->ask(1).at(0));
      else
        batch = search->ask(4);
      for (const Point& point : batch) {
        EXPECT_FALSE(search->author(point).empty());
        search->tell({point, records.at(point)->succeeded, records.at(point)->cost});
        order.push_back(point);
      }
    }
    return order;
  };
  const auto first = sequence(5, false);
  EXPECT_EQ(first, sequence(5, false));
  EXPECT_EQ(first, sequence(5, true));
  EXPECT_NE(first, sequence(6, false));
}

INSTANTIATE_TEST_SUITE_P(Search, EveryTechnique, testing::ValuesIn(technique_names()),
                         [](const auto& tested) { return tested.param; });

// Large enough a space that its models divide their work.
TEST(Search, NothingDependsOnTheNumberOfThreads) {
  std::vector<Parameter> parameters(9);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].name = std::string("p").append(std::to_string(i));
    for (std::int64_t value = 1; value <= 8; ++value)
      parameters[i].values.emplace_back(value);
  }
  const auto space = Space::build(parameters, {});
  ASSERT_TRUE(space.ok());
  const auto cost = [](const Point& point, double shift) {
    double sum = 1;
    for (std::size_t i = 0; i < point.size(); ++i)
      sum += std::pow(point[i] - shift - static_cast<double>(i % 3), 2);
    return sum;
  };
  SearchOptions options;
  Random random(7);
  for (int i = 0; i < 60; ++i) {
    const Point point = space->sample(random);
    options.prior.push_back({point, true, cost(point, 3)});
  }
  std::vector<std::vector<Point>> orders;
  for (const unsigned threads : {1u, 2u, 5u}) {
    options.threads = threads;
    const auto search = make_search(*space, options);
    ASSERT_TRUE(search.ok());
    auto& order = orders.emplace_back();
    while (order.size() < 24)
      for (const Point& point : (*search)->ask(4)) {
        order.push_back(point);
        (*search)->tell({point, true, cost(point, 2)});
      }
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_EQ(orders[0], orders[2]);
}

TEST(Search, UnknownTechniqueListsTheKnownOnes) {
  const std::vector<Parameter> parameters{integers("a", {1, 2})};
  for (const char* name : {"simplex", "", "random+simplex", "+"}) {
    auto search = search::make_search(search::domain_of(parameters, {{0}, {1}}), {name, 1, {}});
    ASSERT_FALSE(search.ok()) << name;
    EXPECT_EQ(search.error().failure, Failure::usage);
    EXPECT_NE(search.error().sentence().find("gaussian_process"), std::string::npos);
  }
}

TEST(Search, ForeignObservationsAreNotProposed) {
  const std::vector<Parameter> parameters{integers("a", {1, 2, 3})};
  auto search = search_of(parameters, points_of(parameters, all), "random");
  search->tell({{1}, true, 5});
  search->tell({{1}, true, 4}); // told twice: the first stands
  EXPECT_EQ(search->author({1}), "default");
  const auto rest = search->ask(5);
  EXPECT_EQ(std::set<Point>(rest.begin(), rest.end()), (std::set<Point>{{0}, {2}}));
}

TEST(Search, WorksOnASpaceWithConditions) {
  auto condition = Expression::parse("a * b <= 64");
  ASSERT_TRUE(condition.ok());
  auto space = Space::build(
      {integers("a", {1, 2, 4, 8, 16, 32, 64}), integers("b", {1, 2, 4, 8, 16, 32, 64})}, {*condition});
  ASSERT_TRUE(space.ok());
  auto search = make_search(*space, {});
  ASSERT_TRUE(search.ok());
  const auto order = run_out(
      **search, 1, [](const Point& point) { return Observation{point, true, 1.0 + point[0] + point[1]}; });
  EXPECT_EQ(static_cast<double>(order.size()), space->valid_count().value);
  for (const Point& point : order)
    EXPECT_TRUE(space->contains(point));
}

TEST(RemainingGap, IsHonestAboutWhatItKnows) {
  EXPECT_EQ(estimate_remaining_gap({}, 100).fraction, 1);
  std::vector<Observation> observations;
  for (std::uint16_t i = 0; i < 40; ++i)
    observations.push_back({{i}, true, 10.0 - 0.1 * i});
  const RemainingGap gap = estimate_remaining_gap(observations, 1000);
  EXPECT_GT(gap.fraction, 0.1); // the second half gained 25 %
  EXPECT_LT(gap.fraction, 1);
  EXPECT_NEAR(gap.better_share, 1 - std::pow(0.05, 1.0 / 40), 1e-12);
  EXPECT_EQ(estimate_remaining_gap(observations, 40).fraction, 0);
}

// Where costs differ by much, an early stop without progress is no evidence; many evaluations are.
TEST(RemainingGap, IsWideForFewEvaluationsOfAWideSpace) {
  std::vector<Observation> observations{{{0}, true, 10}};
  for (std::uint16_t i = 1; i <= 24; ++i)
    observations.push_back({{i}, true, i < 5 ? 10.0 : 30.0});
  const double early = estimate_remaining_gap(observations, 1e6).fraction;
  EXPECT_NEAR(early, 1 - std::pow(1.0 / 3, 20.0 / 25), 1e-12);
  for (std::uint16_t i = 25; i < 400; ++i)
    observations.push_back({{i}, true, 30});
  EXPECT_LT(estimate_remaining_gap(observations, 1e6).fraction, early / 5);
}

TEST(Plateau, NeedsEnoughEvaluationsWithoutAGain) {
  EXPECT_EQ(plateau_length(0.95), 59u); // 0.95^59 < 0.05 < 0.95^58
  std::vector<Observation> observations{{{0}, true, 10}};
  observations.resize(1 + 58, Observation{{1}, true, 9.95}); // gains of less than one per cent
  EXPECT_FALSE(has_plateaued(observations, 0.95));
  observations.push_back({{2}, false, 0});
  EXPECT_TRUE(has_plateaued(observations, 0.95));
  EXPECT_FALSE(has_plateaued(observations, 0.99));
  observations.push_back({{3}, true, 9});
  EXPECT_FALSE(has_plateaued(observations, 0.95));
  EXPECT_FALSE(has_plateaued(std::vector<Observation>(100, {{0}, false, 0}), 0.95)); // nothing ran
}

} // namespace
} // namespace lathe
