// What two searches differ by, and the evidence that one is a guide to the other.
#include "synthetic.h"
#include "tuner/search/difference.h"
#include "tuner/search/engine.h"
#include "tuner/search/posterior.h"
#include "tuner/search/replay.h"
#include "tuner/search/techniques/gaussian_process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace lathe::search {
namespace {

// The space of synthetic_space() with other costs.
RecordedSpace with_costs(RecordedSpace space,
                         const std::function<double(const RecordedSpace::Record&)>& cost) {
  for (RecordedSpace::Record& record : space.records)
    record.cost = cost(record);
  return space;
}

std::vector<Observation> all_of(const RecordedSpace& space) {
  return *prior_from(space, space.parameters);
}

// Elsewhere two knobs have another effect, whatever the others are.
double shifted(const RecordedSpace::Record& record) {
  constexpr std::array by_tile = {2.2, 1.0, 1.9, 1.1, 1.6, 1.0, 2.4, 1.3};
  constexpr std::array by_block = {1.0, 1.7, 1.2, 2.0, 1.0};
  return record.cost * by_tile[record.point[2]] * by_block[record.point[1]];
}

TEST(Difference, IsHalfAsLargeAsTheEarlierResultsAndAsSmooth) {
  const RecordedSpace space = synthetic_space();
  const Prior prior(space.parameters, all_of(space));
  const Kernel kernel = difference_kernel(space.parameters, prior);
  ASSERT_EQ(kernel.parts(), space.parameters.size());
  const std::vector<double>& lengths = prior.kernel().theta();
  EXPECT_TRUE(std::equal(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(kernel.axes()),
                         kernel.theta().begin()));
  // The rest is a constant, as an offset is.
  const double constant = std::exp(2 * kernel.theta().end()[-2]);
  EXPECT_NEAR(kernel.signal_variance() - constant, 0.25, 1e-9);
}

struct Evidence {
  double with = 0, without = 0;
};

// Of some observations of `space`, with the results of `earlier` and without.
Evidence evidence(const RecordedSpace& space, const Prior& earlier, std::size_t count, unsigned seed) {
  Random random(seed);
  std::vector<Point> points;
  std::vector<Prior::Expectation> expectations;
  const auto n = static_cast<Eigen::Index>(count);
  Eigen::VectorXd differences(n), whole(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const RecordedSpace::Record& record = space.records[random() % space.records.size()];
    points.push_back(record.point);
    expectations.push_back(earlier(record.point));
    whole[i] = std::log(record.cost) / earlier.deviation();
    differences[i] = whole[i] - expectations.back().mean;
  }
  differences.array() -= differences.mean();
  whole.array() -= whole.mean();
  Eigen::MatrixXd transferred(n, n);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j)
      transferred(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          transfer_covariance(earlier, points[i], expectations[i], points[j], expectations[j]);
  Kernel kernel = difference_kernel(space.parameters, earlier);
  return {-fit(kernel, points, differences, transferred, 60),
          -Unguided(space.parameters, earlier).fit(points, whole, 60)};
}

// A difference of single knobs does not hide a guide; and that a sum explains results is no evidence for what
// another kernel's results say.
TEST(Difference, EvidenceIsForAGuideAndAgainstWhatIsNone) {
  const RecordedSpace space = synthetic_space();
  const RecordedSpace elsewhere = with_costs(space, shifted);
  const RecordedSpace unrelated = with_costs(space, [](const RecordedSpace::Record& record) {
    return std::exp(0.6 * std::sin(2.0 * record.point[0]) + 0.5 * std::cos(2.5 * record.point[2]) +
                    0.4 * std::sin(3.0 * record.point[1]));
  });
  const Prior earlier(space.parameters, all_of(space));
  double for_guide = 0, for_none = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const Evidence guide = evidence(elsewhere, earlier, 25, seed),
                   none = evidence(unrelated, earlier, 25, seed);
    for_guide += guide.with - guide.without;
    for_none += none.with - none.without;
  }
  EXPECT_GT(for_guide / 4, 1);
  EXPECT_LT(for_none / 4, 0);
}

// One knob's other value is the better one elsewhere. Where the difference was one process over all knobs, 15
// evaluations reached 0.81.
TEST(Difference, WhatOneKnobChangesIsLearntSoon) {
  const RecordedSpace space = synthetic_space();
  const RecordedSpace elsewhere = with_costs(space, [](const RecordedSpace::Record& record) {
    return record.cost * (record.point[4] == 1 ? 1.8 : 1);
  });
  ReplayOptions options{.budget = 20, .seeds = 12};
  const auto cold = replay(elsewhere, options);
  options.prior = all_of(space);
  const auto guided = replay(elsewhere, options);
  ASSERT_TRUE(cold.ok() && guided.ok());
  EXPECT_GT(guided->mean_fraction(15), cold->mean_fraction(20));
  EXPECT_GT(guided->mean_fraction(15), 0.95);
}

// Between the optima of the earlier results, what they showed is made use of.
TEST(Difference, OptimaAreMeasuredByTurns) {
  const RecordedSpace space = synthetic_space();
  const Prior prior(space.parameters, all_of(space));
  ASSERT_GE(prior.optima().size(), 2u);
  std::vector<Point> points;
  for (const RecordedSpace::Record& record : space.records)
    points.push_back(record.point);
  SearchOptions options;
  options.prior = all_of(space);
  const auto search = search::make_search(domain_of(space.parameters, points), options);
  ASSERT_TRUE(search.ok());
  std::vector<Point> proposed;
  for (int i = 0; i < 3; ++i) {
    proposed.push_back((*search)->ask(1).front());
    const auto record = std::ranges::find(space.records, proposed.back(), &RecordedSpace::Record::point);
    (*search)->tell({record->point, record->succeeded, record->cost});
  }
  EXPECT_EQ(proposed[0], prior.optima()[0]);
  EXPECT_NE(proposed[1], prior.optima()[1]);
  EXPECT_EQ(proposed[2], prior.optima()[1]);
}

// The search that does not know of the earlier results need not draw blindly what another one had measured.
TEST(Difference, WhatAnotherSearchHadMeasuredStandsForABlindStart) {
  const RecordedSpace space = synthetic_space();
  std::vector<Point> points;
  for (const RecordedSpace::Record& record : space.records)
    points.push_back(record.point);
  const std::unique_ptr<Domain> domain = domain_of(space.parameters, points);
  History history;
  const auto first_proposal = [&](bool is_alone, unsigned seed) {
    return GaussianProcessSearch({*domain, history, nullptr, Random(seed)}, is_alone).propose();
  };
  EXPECT_NE(first_proposal(false, 1), first_proposal(false, 2)); // nothing is known
  for (std::size_t i = 0; i < 6; ++i) {
    const RecordedSpace::Record& record = space.records[i * space.records.size() / 6];
    history.observe({record.point, record.succeeded, record.cost});
  }
  EXPECT_EQ(first_proposal(false, 1), first_proposal(false, 2));
  EXPECT_NE(first_proposal(true, 1), first_proposal(true, 2));
}

// However many of the searches run at a time.
TEST(Difference, AGuidedSearchDependsOnItsSeedAlone) {
  const RecordedSpace space = synthetic_space();
  ReplayOptions options{.budget = 20, .seeds = 4};
  options.prior = all_of(with_costs(space, shifted));
  options.threads = 1;
  const auto alone = replay(space, options);
  options.threads = 4;
  const auto together = replay(space, options);
  ASSERT_TRUE(alone.ok() && together.ok());
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(alone->runs[i].best, together->runs[i].best);
}

} // namespace
} // namespace lathe::search
