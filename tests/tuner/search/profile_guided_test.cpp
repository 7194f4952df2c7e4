#include "synthetic.h"
#include "tuner/search/replay.h"

#include <gtest/gtest.h>

#include <set>

namespace lathe {
namespace {

// The synthetic space with counters from which its cost follows.
RecordedSpace counted_space() {
  RecordedSpace space = synthetic_space();
  for (RecordedSpace::Record& record : space.records)
    record.counters =
        Counters{{"busy", std::log(record.cost)}, {"other", static_cast<double>(record.point[4])}};
  return space;
}

Result<ReplayResult> guided(const RecordedSpace& space, std::size_t seeds = 12) {
  ReplayOptions options;
  options.technique = "profile_guided";
  options.budget = 60;
  options.seeds = seeds;
  return replay(space, options);
}

TEST(ProfileGuided, CountersThatGoWithTimeHelp) {
  const RecordedSpace space = counted_space();
  const auto result = guided(space);
  ASSERT_TRUE(result.ok());
  EXPECT_GT(result->mean_fraction(60) - 3 * result->standard_error(60), random_fraction(space, 60));
}

TEST(ProfileGuided, WithoutCountersItLeavesTheSearchToOthers) {
  const RecordedSpace space = synthetic_space();
  const auto result = guided(space, 40);
  ASSERT_TRUE(result.ok());
  EXPECT_NEAR(result->mean_fraction(60), random_fraction(space, 60), 4 * result->standard_error(60));
}

TEST(ProfileGuided, AsksForTheBestAndNeverTwice) {
  const RecordedSpace space = counted_space();
  std::vector<Parameter> parameters = space.parameters;
  const Result<Space> whole = Space::build(parameters, {}, {});
  ASSERT_TRUE(whole.ok());
  SearchOptions options;
  options.technique = "profile_guided";
  const auto search = make_search(*whole, options);
  ASSERT_TRUE(search.ok());
  EXPECT_FALSE((*search)->wants_counters());
  std::set<Point> asked;
  double cost = 100;
  for (const Point& point : (*search)->ask(40)) {
    (*search)->tell({point, true, --cost});
    for (bool is_first = true; const auto wanted = (*search)->wants_counters(); is_first = false) {
      if (is_first) {
        EXPECT_EQ(*wanted, point); // the best so far
      }
      EXPECT_TRUE(asked.insert(*wanted).second);
      (*search)->tell_counters(*wanted, std::nullopt);
    }
  }
  EXPECT_LT(asked.size(), 20u);
}

} // namespace
} // namespace lathe
