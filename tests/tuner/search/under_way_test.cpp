#include "tuner/search/under_way.h"

#include "synthetic.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

const std::vector<Parameter>& knobs() {
  static const std::vector<Parameter> parameters{
      integers("unroll", {1, 2, 4, 8, 16}),
      integers("tile", {1, 2, 4, 8}),
      {"policy", {Value(std::string("a")), Value(std::string("b"))}}};
  return parameters;
}

// What compiling takes where all steps are written out.
double seconds_of(const Point& point) {
  return 0.05 * static_cast<double>(1 << (point[0] + point[1])) * (point[2] == 1 ? 3 : 1);
}

TEST(SecondsEstimate, SaysTheSameOfAllWhereNothingIsKnown) {
  search::SecondsEstimate estimate(knobs());
  EXPECT_EQ(estimate.relative({4, 3, 0}), 1);
  estimate.add({0, 0, 0}, 0); // not known
  EXPECT_EQ(estimate.relative({4, 3, 0}), 1);
}

TEST(SecondsEstimate, LearnsWhatMultipliesTheSeconds) {
  search::SecondsEstimate estimate(knobs());
  double sum = 0, known = 0;
  for (const Point& point : std::vector<Point>{{0, 0, 0},
                                               {4, 0, 0},
                                               {0, 3, 0},
                                               {2, 2, 1},
                                               {1, 3, 1},
                                               {3, 1, 0},
                                               {2, 0, 1},
                                               {0, 2, 0},
                                               {4, 1, 1},
                                               {3, 0, 0},
                                               {1, 1, 0},
                                               {0, 1, 1}}) {
    estimate.add(point, seconds_of(point));
    sum += seconds_of(point);
    ++known;
  }
  for (const Point& point : std::vector<Point>{{4, 3, 1}, {4, 3, 0}, {0, 0, 1}, {2, 1, 0}})
    EXPECT_NEAR(std::log(estimate.relative(point) * sum / known / seconds_of(point)), 0, std::log(1.5));
}

TEST(UnderWay, KeepsTheOrderOfAskingWhereNothingIsKnown) {
  UnderWay under_way(knobs());
  for (std::uint16_t i = 0; i < 5; ++i)
    under_way.add({i, 0, 0});
  EXPECT_EQ(under_way.take(2), (std::vector<Point>{{0, 0, 0}, {1, 0, 0}}));
  EXPECT_EQ(under_way.size(), 3u);
  EXPECT_EQ(under_way.take(9).size(), 3u);
  EXPECT_TRUE(under_way.empty());
}

class UnderWayWithResults : public ::testing::Test {
protected:
  UnderWayWithResults() {
    for (std::uint16_t i = 0; i < 5; ++i)
      for (std::uint16_t j = 0; j < 4; ++j)
        under_way.tell({i, j, 0}, seconds_of({i, j, 0}));
  }
  UnderWay under_way{knobs()};
  const Point slow{4, 3, 0}, quick{0, 0, 0};
};

TEST_F(UnderWayWithResults, WhatTakesLongIsPutBackAndComesInTheEnd) {
  under_way.add(quick);
  under_way.add(slow);
  std::size_t waited = 0;
  for (bool came = false; !came; ++waited) {
    ASSERT_LT(waited, 100u);
    under_way.add(quick);
    const std::vector<Point> next = under_way.take(1);
    ASSERT_EQ(next.size(), 1u);
    came = next.front() == slow;
  }
  // It takes 6.4 s and the mean 1.2 s: with three under way, some ten others have their results before.
  EXPECT_GT(waited, 5u);
  EXPECT_LT(waited, 30u);
}

TEST_F(UnderWayWithResults, WhatIsQuickIsNotPreferred) {
  const Point usual{2, 2, 0};
  under_way.add(usual);
  under_way.add(quick);
  EXPECT_EQ(under_way.take(1).front(), usual);
}

TEST_F(UnderWayWithResults, WhatIsLeftComesWhereNothingElseDoes) {
  under_way.add(slow);
  EXPECT_EQ(under_way.take(1), std::vector<Point>{slow});
}

} // namespace
} // namespace lathe
