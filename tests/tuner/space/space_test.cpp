#include "brute_force.h"
#include "known_spaces.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

namespace lathe {
namespace {

using testing::HasSubstr;

std::string build_error(std::vector<Parameter> parameters, const std::vector<std::string>& conditions) {
  const Result<Space> space = Space::build(std::move(parameters), parse_all(conditions));
  return space.ok() ? "no error" : space.error().sentence();
}

std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = first; i <= last; ++i)
    values.push_back(i);
  return values;
}

TEST(Space, RefusesWhatIsNoSpace) {
  EXPECT_THAT(build_error({}, {}), HasSubstr("no parameter"));
  EXPECT_THAT(build_error({{"a", {}}}, {}), HasSubstr("parameter a: its list of values is empty"));
  EXPECT_THAT(build_error({{"a", integers({1, 2, 1})}}, {}), HasSubstr("the value 1 appears twice"));
  EXPECT_THAT(build_error({{"a", {std::int64_t{1}, 1.0}}}, {}), HasSubstr("appears twice"));
  EXPECT_THAT(build_error({{"a", {"x", "x"}}}, {}), HasSubstr("the value x appears twice"));
  EXPECT_THAT(build_error({{"a", integers({1})}, {"a", integers({2})}}, {}), HasSubstr("defined twice"));
  EXPECT_THAT(build_error({{"a", integers({1})}}, {"a < n"}), HasSubstr("\"n\" is neither a parameter nor"));
  EXPECT_THAT(build_error({{"a", std::vector<Value>(70000, std::int64_t{0})}}, {}),
              HasSubstr("at most 65535"));
}

TEST(Space, NamesTheConditionThatExcludesEverything) {
  const std::vector<Parameter> parameters = {
      {"a", integers({1, 2, 4})}, {"b", integers({1, 2, 4})}, {"c", integers({1, 2, 4})}};
  EXPECT_THAT(build_error(parameters, {"a > 1", "b > 5", "c > 1"}), HasSubstr("condition \"b > 5\""));
  EXPECT_THAT(build_error(parameters, {"a > 1", "a < 2"}), HasSubstr("condition \"a < 2\""));
  EXPECT_THAT(build_error(parameters, {"a * b > 8", "b * c < 8", "c > 2", "a * c > 4"}),
              HasSubstr("condition \"c > 2\" excludes all that the conditions before it leave"));
  EXPECT_THAT(build_error(parameters, {"a > 0", "b > 4"}), HasSubstr("condition \"b > 4\" holds for none"));
  EXPECT_THAT(build_error(parameters, {"a * b * c > 4", "1 / 0 == 1"}),
              HasSubstr("condition \"1 / 0 == 1\""));
  EXPECT_THAT(build_error(parameters, {"2 > 3"}), HasSubstr("condition \"2 > 3\""));
}

TEST(Space, ConstantsAreKnown) {
  const Lookup constants = [](std::string_view name) -> std::optional<Value> {
    if (name == "device.limit")
      return Value{std::int64_t{8}};
    if (name == "mode")
      return Value{"fast"};
    return std::nullopt;
  };
  const std::vector<Parameter> parameters = {{"a", integers({1, 2, 4})}, {"b", integers({1, 2, 4})}};
  const Space space =
      *Space::build(parameters, parse_all({"a * b <= device.limit", "mode == 'fast' or a == 1"}), constants);
  EXPECT_EQ(space.valid_count().value, 8);
}

TEST(Space, AFailingConditionMakesThePointInvalid) {
  const std::vector<Parameter> parameters = {{"a", integers({0, 1, 2})}, {"b", integers({0, 4})}};
  const std::vector<Expression> conditions = parse_all({"b % a == 0"});
  EXPECT_EQ(Space::build(parameters, conditions)->valid_count().value, 4);
  const std::vector<Expression> guarded = parse_all({"a == 0 || b % a == 0"});
  EXPECT_EQ(Space::build(parameters, guarded)->valid_count().value, 6);
  const Space overflow = *Space::build({{"a", integers({1, 3037000500})}, {"b", integers({1, 3037000500})}},
                                       parse_all({"a * b > 0"}));
  EXPECT_EQ(overflow.valid_count().value, 3);
}

// Of zero and below there is no logarithm: such points are invalid.
TEST(Space, LogarithmsRoundDown) {
  const std::vector<Parameter> parameters = {{"a", integers(range(-2, 40))}, {"b", integers({1, 3, 8, 17})}};
  for (const char* condition :
       {"floor_log2(a) == 4", "floor_log2(a * b) <= floor_log2(a) + 2", "floor_log2(a - b) > 0"}) {
    const std::vector<Expression> conditions = parse_all({condition});
    const Result<Space> space = Space::build(parameters, conditions, {});
    ASSERT_TRUE(space.ok()) << space.error().sentence();
    EXPECT_EQ(space->valid_count().value,
              static_cast<double>(all_valid_points(parameters, conditions).size()))
        << condition;
  }
}

TEST(Space, HoldsStringsRealsAndBools) {
  const std::vector<Parameter> parameters = {
      {"method", {"direct", "tiled", "split"}}, {"scale", {0.5, 1.0, 2.0}}, {"on", {true, false}}};
  const Space space =
      *Space::build(parameters, parse_all({"method != 'tiled' or scale > 0.75", "on or scale < 2"}));
  EXPECT_EQ(space.valid_count().value, 13);
  const std::optional<Point> point = space.point_of({"tiled", std::int64_t{2}, std::int64_t{1}});
  ASSERT_TRUE(point);
  EXPECT_EQ(space.values(*point), (std::vector<Value>{"tiled", 2.0, true}));
  EXPECT_FALSE(space.point_of({"other", 2.0, true}));
  EXPECT_FALSE(space.point_of({"tiled", 2.0}));
}

TEST(Space, AnswersForWhatIsNoPoint) {
  const Space space =
      *Space::build({{"a", integers({1, 2})}, {"b", integers({1, 2})}}, parse_all({"a <= b"}));
  EXPECT_FALSE(space.contains({0}));
  EXPECT_FALSE(space.contains({0, 2}));
  EXPECT_FALSE(space.index_of({0, 7}));
  EXPECT_TRUE(space.neighbours({9, 9}, Neighbourhood::wide).empty());
  Random random(1);
  EXPECT_TRUE(space.contains(space.repair({9, 9}, random)));
  EXPECT_TRUE(space.contains(space.repair({}, random)));
}

TEST(Space, SamplesUniformly) {
  // Groups of different shape, so that choosing value by value would not be uniform.
  const Space space = *Space::build({{"a", integers({1, 2, 3, 4, 6, 12})},
                                     {"x", integers({0, 1})},
                                     {"b", integers({1, 2, 3, 4, 6, 12})},
                                     {"y", integers({0, 1, 2})}},
                                    parse_all({"a % b == 0", "x <= y"}));
  const auto count = static_cast<std::size_t>(space.valid_count().value);
  ASSERT_EQ(count, 18u * 5u);
  constexpr int draws = 90000;
  std::vector<int> seen(count, 0);
  Random random(7);
  for (int i = 0; i < draws; ++i)
    ++seen[*space.index_of(space.sample(random))];
  const double expected = static_cast<double>(draws) / static_cast<double>(count);
  double chi_squared = 0;
  for (const int n : seen)
    chi_squared += (n - expected) * (n - expected) / expected;
  // 89 degrees of freedom: beyond 160 lies less than one in 10^5.
  EXPECT_LT(chi_squared, 160);
}

TEST(Space, CountsKnownSpaces) {
  for (const KnownSpace& known : known_spaces()) {
    std::vector<Parameter> parameters;
    for (const auto& [name, values] : known.parameters)
      parameters.push_back({name, integers(values)});
    for (const Dialect dialect : {Dialect::lathe, Dialect::python}) { // `/` is exact wherever it matters
      const Space space = *Space::build(parameters, parse_all(known.conditions, dialect));
      EXPECT_EQ(space.cartesian_size(), known.cartesian) << known.name;
      EXPECT_EQ(space.valid_count().value, known.valid) << known.name;
      Random random(1);
      for (int i = 0; i < 200; ++i) {
        const Point point = space.sample(random);
        const std::optional<std::uint64_t> index = space.index_of(point);
        ASSERT_TRUE(index);
        ASSERT_EQ(space.point(*index), point);
      }
    }
  }
}

TEST(Space, RepairMovesAsLittleAsPossible) {
  const Space space = *Space::build({{"a", integers(range(1, 64))}, {"b", integers(range(1, 64))}},
                                    parse_all({"a * b == 64"}));
  Random random(3);
  const Point near = space.point_of({std::int64_t{8}, std::int64_t{9}}).value();
  EXPECT_EQ(space.values(space.repair(near, random)), (std::vector<Value>{std::int64_t{8}, std::int64_t{8}}));
}

} // namespace
} // namespace lathe
