// The surrogate's parts against direct computation.
#include "synthetic.h"

#include "tuner/search/domain.h"
#include "tuner/search/exchanges.h"
#include "tuner/search/kernel.h"
#include "tuner/search/posterior.h"
#include "tuner/search/prior.h"
#include "tuner/search/relaxation.h"
#include "tuner/search/replay.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <utility>

namespace lathe::search {
namespace {

std::vector<Point> points_of_records(const RecordedSpace& space) {
  std::vector<Point> points;
  for (const auto& record : space.records)
    points.push_back(record.point);
  return points;
}

TEST(Axes, TextIsCategoricalAndConstantsHaveNone) {
  const std::vector<Axis> axes = axes_of({{"mode", {Value{std::string("a")}, Value{std::string("b")}}},
                                          integers("one", {7}),
                                          integers("power", {1, 2, 4}),
                                          integers("any", {16, 32, 48}),
                                          integers("signed", {-1, 0, 1})});
  ASSERT_EQ(axes.size(), 5u);
  EXPECT_TRUE(axes[0].categorical);
  EXPECT_EQ(axes[1].parameter, 2u);
  EXPECT_EQ(axes[2].parameter, 3u);
  EXPECT_EQ(axes[3].parameter, 3u); // alignment
  EXPECT_EQ(axes[3].position, (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(axes[4].position, (std::vector<double>{0, 0.5, 1}));
}

TEST(Kernel, SlopesMatchFiniteDifferences) {
  const RecordedSpace space = synthetic_space();
  const Point a = space.records[10].point, b = space.records[900].point;
  for (const Kernel::Form form : {Kernel::Form::whole, Kernel::Form::in_parts})
    for (const Point& other : {b, a}) {
      Kernel kernel(space.parameters, form);
      const std::vector<double> theta = kernel.theta();
      ASSERT_EQ(theta.size(), kernel.axes() + kernel.parts() + 2);
      for (std::size_t index = 0; index + 2 < theta.size(); ++index) {
        constexpr double step = 1e-5;
        kernel.set(theta);
        const double slope = kernel.slopes({a, other}, Eigen::Matrix2d{{0, 0}, {1, 0}})[index];
        auto moved = theta;
        moved[index] += step;
        kernel.set(moved);
        const double above = std::log(kernel(a, other));
        moved[index] -= 2 * step;
        kernel.set(moved);
        EXPECT_NEAR((above - std::log(kernel(a, other))) / (2 * step), slope, 1e-6);
      }
    }
}

// Points that share one value and are far apart in every other knob still tell of each other.
TEST(Kernel, InPartsASharedValueIsEnough) {
  const std::vector<Parameter> parameters = {integers("a", {1, 2, 4, 8}), integers("b", {1, 2, 4, 8}),
                                             integers("c", {1, 2, 4, 8})};
  Kernel whole(parameters), in_parts(parameters, Kernel::Form::in_parts);
  for (Kernel* kernel : {&whole, &in_parts}) {
    std::vector<double> theta = kernel->theta();
    std::fill_n(theta.begin(), kernel->axes(), 3.0); // short lengths
    kernel->set(theta);
    EXPECT_NEAR((*kernel)(Point{1, 2, 3}, Point{1, 2, 3}), kernel->signal_variance(), 1e-12);
  }
  EXPECT_LT(whole(Point{0, 0, 0}, Point{0, 3, 3}), 1e-6);
  // Of the one that they share, the part is a third of the constant.
  EXPECT_NEAR(in_parts(Point{0, 0, 0}, Point{0, 3, 3}), in_parts(Point{0, 0, 0}, Point{3, 3, 3}) * 4 / 3,
              1e-4);
}

// A sum of effects of single knobs is known after a few observations, in parts, where it has no smoothness.
TEST(Kernel, InPartsLearnsASumFromFewObservations) {
  const std::vector<Parameter> parameters = {integers("a", {1, 2, 4, 8, 16, 32}),
                                             integers("b", {1, 2, 4, 8, 16, 32}),
                                             integers("c", {1, 2, 4, 8, 16, 32})};
  const auto sum = [](const Point& p) {
    constexpr std::array effects = {0.3, -1.0, 0.8, -0.2, 1.1, -0.9};
    return effects[p[0]] + effects[(p[1] + 2) % 6] - 0.5 * effects[p[2]];
  };
  const std::vector<Point> all = points_of(parameters, [](const Point&) { return true; });
  std::vector<Point> seen;
  Random random(3);
  for (std::size_t i = 0; i < 30; ++i)
    seen.push_back(all[random() % all.size()]);
  const auto n = static_cast<Eigen::Index>(seen.size());
  Eigen::VectorXd targets(n);
  for (Eigen::Index i = 0; i < n; ++i)
    targets[i] = sum(seen[static_cast<std::size_t>(i)]);
  const auto error_of = [&](Kernel kernel) {
    fit(kernel, seen, targets, {}, 60);
    Eigen::MatrixXd covariance(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j < n; ++j)
        covariance(i, j) = kernel(seen[static_cast<std::size_t>(i)], seen[static_cast<std::size_t>(j)]) +
                           (i == j ? kernel.noise_variance() : 0);
    const Eigen::VectorXd weights = covariance.llt().solve(targets);
    double squares = 0;
    for (const Point& point : all) {
      double mean = 0;
      for (Eigen::Index i = 0; i < n; ++i)
        mean += weights[i] * kernel(seen[static_cast<std::size_t>(i)], point);
      squares += std::pow(mean - sum(point), 2);
    }
    return std::sqrt(squares / static_cast<double>(all.size()));
  };
  const double in_parts = error_of(Kernel(parameters, Kernel::Form::in_parts));
  EXPECT_LT(in_parts, 0.4);
  EXPECT_LT(in_parts, 0.6 * error_of(Kernel(parameters)));
}

// What a store may hold of the space: every `stride`-th configuration.
std::vector<Observation> some_of(const RecordedSpace& space, std::size_t stride) {
  std::vector<Observation> observations;
  for (std::size_t i = 0; i < space.records.size(); i += stride)
    observations.push_back({space.records[i].point, space.records[i].succeeded, space.records[i].cost});
  return observations;
}

// Extending by one point or several at a time, on one thread or more, gives what solving the whole system
// gives.
TEST(Posterior, MatchesTheDirectSolution) {
  const RecordedSpace space = synthetic_space();
  const auto domain = domain_of(space.parameters, points_of_records(space));
  const CandidatePool pool(*domain, 100'000);
  const Kernel kernel(space.parameters);
  const Prior some(space.parameters, some_of(space, 19));
  for (const Prior* prior : {static_cast<const Prior*>(nullptr), &some}) {
    const auto expectation = [&](std::size_t c) {
      return prior ? (*prior)(pool.row(c)) : Prior::Expectation{};
    };
    const auto covariance = [&](std::size_t a, std::size_t b) {
      return kernel(pool.row(a), pool.row(b)) +
             (prior ? transfer_covariance(*prior, pool.row(a), expectation(a), pool.row(b), expectation(b))
                    : 0);
    };
    Posterior posterior(3);
    for (const std::size_t step : {1, 7, 20}) { // what it keeps of the pool is what it would compute
      posterior.reset(kernel, pool, prior);
      EXPECT_EQ(posterior.predict({}).rows(), static_cast<Eigen::Index>(pool.size()));
      constexpr Eigen::Index n = 20;
      std::vector<std::optional<double>> targets;
      Eigen::MatrixXd k(n, n);
      Eigen::VectorXd y(n);
      const auto row = [](Eigen::Index i) { return static_cast<std::size_t>(i * 38); }; // some are recorded
      std::vector<Posterior::Place> places;
      for (Eigen::Index i = 0; i < n; ++i) {
        places.push_back({pool.point(row(i)), expectation(row(i))});
        y[i] = std::sin(static_cast<double>(i));
        targets.emplace_back(y[i]);
        for (Eigen::Index j = 0; j < n; ++j)
          k(i, j) = covariance(row(i), row(j)) + (i == j ? kernel.noise_variance() : 0);
      }
      for (std::size_t i = 0; i < places.size(); i += step)
        posterior.add(std::span(places).subspan(i, std::min(step, places.size() - i)));
      EXPECT_EQ(posterior.size(), places.size());
      const Eigen::LLT<Eigen::MatrixXd> factor(k);
      const Eigen::VectorXf mean = posterior.predict({&targets, 1}).col(0);
      for (std::size_t c = 0; c < pool.size(); c += 101) {
        Eigen::VectorXd cross(n);
        for (Eigen::Index i = 0; i < n; ++i)
          cross[i] = covariance(c, row(i));
        const auto at = static_cast<Eigen::Index>(c);
        EXPECT_NEAR(mean[at], cross.dot(factor.solve(y)), 2e-3);
        EXPECT_NEAR(posterior.variance()[at], covariance(c, c) - cross.dot(factor.solve(cross)), 2e-3);
        if (prior) {
          EXPECT_NEAR(posterior.expected()[at], expectation(c).mean, 1e-5);
        }
      }
      targets.back() = std::nullopt; // believed to meet its prediction: the mean is that of the others
      EXPECT_TRUE(posterior.predict({&targets, 1}).allFinite());
    }
  }
}

TEST(CandidatePool, LargeSpacesAreSampledAroundTheBest) {
  const RecordedSpace space = synthetic_space();
  const auto domain = domain_of(space.parameters, points_of_records(space));
  CandidatePool pool(*domain, 100);
  EXPECT_FALSE(pool.is_whole());
  History history;
  history.observe({space.records[5].point, true, 1});
  Random random(3);
  pool.refresh(history, {}, random);
  EXPECT_LE(pool.size(), 100u);
  EXPECT_GT(pool.size(), 50u);
  std::set<Point> distinct;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    distinct.insert(pool.point(i));
    EXPECT_TRUE(domain->contains(pool.point(i)));
  }
  EXPECT_EQ(distinct.size(), pool.size());
}

// A pool of neighbours alone cannot walk along a ridge.
TEST(CandidatePool, HoldsExchangesOfTheBest) {
  const RecordedSpace space = synthetic_space();
  const auto domain = domain_of(space.parameters, points_of_records(space));
  CandidatePool pool(*domain, 400);
  History history;
  const Point best{3, 2, 1, 1, 1}; // 64 x 4 threads, tile 2, unrolled twice
  history.observe({best, true, 1});
  Random random(3);
  pool.refresh(history, {}, random);
  std::set<Point> points;
  for (std::size_t i = 0; i < pool.size(); ++i)
    points.insert(pool.point(i));
  for (const Point& exchange : Exchanges(space.parameters).of(best))
    EXPECT_EQ(points.contains(exchange), domain->contains(exchange));
}

// Many observations that differ in a knob that hardly matters leave room for the neighbours of another basin.
TEST(CandidatePool, TheBestAreUnlikeEachOther) {
  RecordedSpace space;
  space.parameters = {integers("flat", {0, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23}), integers("a", {0, 3, 5}),
                      integers("b", {0, 3, 5}), integers("c", {0, 3, 5}),
                      integers("flat_too", {0, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23})};
  const auto points = points_of(space.parameters, [](const Point&) { return true; });
  const auto domain = domain_of(space.parameters, points);
  CandidatePool pool(*domain, 500);
  History history;
  for (std::uint16_t flat = 0; flat < 12; ++flat)
    history.observe({{flat, 0, 0, 0, 0}, true, 1.0 + flat / 1000.0});
  const Point other{0, 2, 2, 2, 0};
  history.observe({other, true, 1.5});
  Random random(3);
  pool.refresh(history, {}, random);
  std::size_t around_other = 0;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    std::size_t changed = 0;
    for (std::size_t p = 0; p < other.size(); ++p)
      changed += pool.point(i)[p] != other[p];
    around_other += changed == 1;
  }
  const auto neighbours = domain->neighbours(other, Neighbourhood::hamming);
  EXPECT_GE(around_other, neighbours.size() * 3 / 4);
}

TEST(Exchanges, DoubleOneNumberAndHalveAnother) {
  const std::vector<Parameter> parameters = {integers("block", {32, 64, 128}),
                                             integers("tile", {1, 2, 3, 4}),
                                             {"mode", {Value{std::string("a")}, Value{std::string("b")}}},
                                             integers("zero", {0, 1, 2})};
  const Exchanges exchanges(parameters);
  const auto of = [&](const Point& point) {
    const auto found = exchanges.of(point);
    return std::set<Point>(found.begin(), found.end());
  };
  EXPECT_EQ(of({1, 1, 0, 0}), (std::set<Point>{{2, 0, 0, 0}, {0, 3, 0, 0}}));
  EXPECT_EQ(of({1, 2, 0, 0}), (std::set<Point>{})); // 3 has no half and no double
  EXPECT_EQ(of({2, 3, 1, 1}), (std::set<Point>{{1, 3, 1, 2}, {2, 1, 1, 2}}));
  EXPECT_EQ(of({0, 0, 0, 0}), (std::set<Point>{}));
}

TEST(Domain, NeighboursAndRepairStayInTheSet) {
  const RecordedSpace space = synthetic_space();
  const std::vector<Point> points = points_of_records(space);
  const auto domain = domain_of(space.parameters, points);
  Random random(1);
  for (std::size_t i = 0; i < points.size(); i += 97)
    for (const auto kind : {Neighbourhood::hamming, Neighbourhood::adjacent, Neighbourhood::wide}) {
      std::set<Point> expected;
      for (const Point& other : points) {
        std::size_t changed = 0;
        bool adjacent = true;
        for (std::size_t p = 0; p < other.size(); ++p)
          if (other[p] != points[i][p]) {
            ++changed;
            adjacent = adjacent && std::abs(other[p] - points[i][p]) == 1;
          }
        if (changed == 1 && (kind != Neighbourhood::adjacent || adjacent))
          expected.insert(other);
        if (changed == 2 && kind == Neighbourhood::wide)
          expected.insert(other);
      }
      const auto found = domain->neighbours(points[i], kind);
      EXPECT_EQ(std::set<Point>(found.begin(), found.end()), expected);
      EXPECT_EQ(found.size(), expected.size());
    }
  const Point invalid{7, 4, 0, 0, 0}; // 256 * 16 threads
  EXPECT_FALSE(domain->contains(invalid));
  EXPECT_TRUE(domain->contains(domain->repair(invalid, random)));
  EXPECT_EQ(domain->repair(points[3], random), points[3]);
}

TEST(Relaxation, FollowsTheNumbersAndClampsToTheBox) {
  const std::vector<Parameter> parameters{integers("a", {8, 2, 4}), integers("b", {5})};
  const auto domain = domain_of(parameters, points_of(parameters, [](const Point&) { return true; }));
  Relaxation relaxation(*domain);
  Random random(1);
  ASSERT_EQ(relaxation.dimensions(), 1u);
  EXPECT_EQ(relaxation.coordinates({1, 0}), std::vector<double>{0.5});
  EXPECT_EQ(relaxation.coordinates({0, 0}), std::vector<double>{2.5});
  EXPECT_EQ(relaxation.point(std::vector<double>{-9}, random), (Point{1, 0}));
  EXPECT_EQ(relaxation.point(std::vector<double>{99}, random), (Point{0, 0}));
  EXPECT_EQ(relaxation.point(std::vector<double>{std::nan("")}, random), (Point{1, 0}));
}

TEST(Prior, KnowsItsResultsAndItsBasins) {
  const RecordedSpace space = synthetic_space();
  const auto observations = prior_from(space, space.parameters);
  ASSERT_TRUE(observations.ok());
  const Prior prior(space.parameters, *observations);
  ASSERT_TRUE(prior.is_usable());
  ASSERT_FALSE(prior.optima().empty());
  EXPECT_DOUBLE_EQ(space.best_cost(), [&] {
    for (const auto& record : space.records)
      if (record.point == prior.optima().front())
        return record.cost;
    return 0.0;
  }());
  EXPECT_FALSE(Prior(space.parameters, {}).is_usable());
  EXPECT_FALSE(Prior(space.parameters, {{space.records[0].point, true, 2}, {space.records[1].point, true, 2}})
                   .is_usable());
}

// Few results that are noise do not pass for a guide, either.
TEST(Prior, ThirtyShuffledResultsAreNotUsed) {
  const RecordedSpace space = synthetic_space();
  std::size_t used = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    std::vector<Observation> shuffled = some_of(space, space.records.size() / 30);
    Random random(seed);
    for (std::size_t i = shuffled.size() - 1; i > 0; --i)
      std::swap(shuffled[i].point, shuffled[random() % (i + 1)].point);
    used += Prior(space.parameters, shuffled).credibility() > 0.25;
  }
  EXPECT_LE(used, 1u);
}

// Where the prior has a result, that is what it expects, and nothing else; between results it is uncertain,
// less so than where it has none, and not far off.
TEST(Prior, IsAsCertainAsItsResultsMakeIt) {
  const RecordedSpace space = synthetic_space();
  const Prior prior(space.parameters, some_of(space, 7));
  const Prior whole(space.parameters, some_of(space, 1));
  ASSERT_TRUE(prior.is_usable());
  double errors = 0, squares = 0, variance = 0, count = 0;
  for (std::size_t i = 0; i < space.records.size(); ++i) {
    const Point& point = space.records[i].point;
    const Prior::Expectation expectation = prior(point);
    EXPECT_EQ(expectation.is_recorded, i % 7 == 0);
    if (expectation.is_recorded) {
      EXPECT_EQ(prior.covariance(point, expectation, point, expectation), 0);
      continue;
    }
    const double own = prior.covariance(point, expectation, point, expectation);
    EXPECT_GT(own, -1e-4);
    EXPECT_LT(own, prior.kernel().signal_variance());
    const double truth = whole(point).mean;
    errors += (expectation.mean - truth) * (expectation.mean - truth);
    squares += truth * truth;
    variance += own;
    ++count;
  }
  EXPECT_LT(errors, 0.4 * squares); // one result in seven explains most of the others
  EXPECT_GT(variance / count, 0.2 * errors / count);
}

// Results that belong to other configurations say nothing: they leave the search as it is without them.
TEST(Prior, ShuffledResultsAreNotUsed) {
  const RecordedSpace space = synthetic_space();
  EXPECT_TRUE(Prior(space.parameters, *prior_from(space, space.parameters)).is_usable());
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    std::vector<Observation> shuffled = *prior_from(space, space.parameters);
    Random random(seed);
    for (std::size_t i = shuffled.size() - 1; i > 0; --i)
      std::swap(shuffled[i].point, shuffled[random() % (i + 1)].point);
    EXPECT_FALSE(Prior(space.parameters, shuffled).is_usable()) << seed;
    ReplayOptions options{.budget = 20, .seeds = 1};
    const auto cold = replay(space, options);
    options.prior = shuffled;
    const auto with = replay(space, options);
    ASSERT_TRUE(cold.ok() && with.ok());
    EXPECT_EQ(cold->runs[0].best, with->runs[0].best);
  }
}

} // namespace
} // namespace lathe::search
