// Sizes at which loops go round.
#include "refactor/guard/condition_edges.h"
#include "refactor/guard/shapes.h"
#include "refactor/guard/size_units.h"
#include "tuner/spec/spec.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

namespace lathe::refactor {
namespace {

// `turned <= dim`: alone the part of a row cannot grow beyond the row.
TEST(Shapes, ADimensionGrowsWithThoseThatAConditionTiesToIt) {
  const auto spec = read_spec(std::filesystem::path(LATHE_TEST_DATA) / "partial.json");
  ASSERT_TRUE(spec.ok()) << spec.error().sentence();
  const GuardOptions options;
  const auto preparation = prepare(*spec, options, 1);
  ASSERT_TRUE(preparation.ok()) << preparation.error().sentence();
  const JudgedPair& subject = *preparation->subject;
  Problem base;
  base.dimensions = {{"tokens", 2}, {"heads", 2}, {"dim", 64}, {"turned", 64}};
  constexpr std::int64_t GROWTH = 8;
  const auto longest =
      longest_shape(subject, subject.defaults.front(), base, "turned", GROWTH, false, ShapeLimits{});
  ASSERT_NE(longest, nullptr);
  EXPECT_EQ(longest->problem.dimensions.at("turned"), 64 * GROWTH);
  EXPECT_EQ(longest->problem.dimensions.at("dim"), 64 * GROWTH);
  EXPECT_EQ(longest->problem.dimensions.at("heads"), 2);
}

Result<Preparation> prepared(const char* name) {
  static GuardOptions options;
  static std::optional<TuningSpec> spec;
  LATHE_TRY(spec, read_spec(std::filesystem::path(LATHE_TEST_DATA) / name));
  return prepare(*spec, options, 1);
}

TEST(Shapes, AProblemThatDoesNotFitKeepsItsSmallDimensions) {
  const auto preparation = prepared("highest.json");
  ASSERT_TRUE(preparation.ok()) << preparation.error().sentence();
  const JudgedPair& subject = *preparation->subject;
  Problem large;
  large.dimensions = {{"rows", 64}, {"width", 1 << 20}, {"window", 40}};
  const auto reduced = reduced_problem(subject, subject.defaults.front(), large, ShapeLimits{});
  ASSERT_NE(reduced, nullptr);
  EXPECT_EQ(reduced->problem.dimensions.at("window"), 40);
  EXPECT_LE(bytes_of(*reduced), ShapeLimits{}.bytes / 8);
  EXPECT_GE(reduced->problem.dimensions.at("width"), 40);
  Problem small;
  small.dimensions = {{"rows", 2}, {"width", 300}, {"window", 40}};
  const auto same = reduced_problem(subject, subject.defaults.front(), small, ShapeLimits{});
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->problem.dimensions, small.dimensions);
}

// `rows % group == 0`: multiples of 6 beside a group of 6, and whatever many words.
TEST(Shapes, UnitsAreWhatConditionsAskMultiplesOf) {
  const auto preparation = prepared("awq.json");
  ASSERT_TRUE(preparation.ok()) << preparation.error().sentence();
  const JudgedPair& subject = *preparation->subject;
  Problem base;
  base.dimensions = {{"rows", 48}, {"words", 150}, {"group", 6}};
  const auto units = size_units(subject, base, {}, nullptr);
  EXPECT_EQ(units.at("rows"), 6);
  EXPECT_EQ(units.at("words"), 1);
  EXPECT_EQ(units.at("group"), 6); // five of a smaller one do not divide 48
  base.dimensions["rows"] = 49;
  EXPECT_TRUE(size_units(subject, base, {}, nullptr).empty());
}

// Two tiles must divide two sizes at once, which few sizes drawn one by one do.
TEST(Shapes, SizesAreMultiplesTogether) {
  const auto preparation = prepared("panels.json");
  ASSERT_TRUE(preparation.ok()) << preparation.error().sentence();
  const JudgedPair& subject = *preparation->subject;
  std::size_t others = 0;
  for (const Configuration& sampled : subject.sampled) {
    const auto shapes =
        boundary_shapes(subject, sampled.workload->types, {&sampled}, ShapeLimits{}, 12, &sampled);
    EXPECT_FALSE(shapes.empty()) << sampled.text();
    others += sampled.knobs != subject.defaults.front().knobs && !shapes.empty();
  }
  EXPECT_GT(others, 0u);
}

// `window <= 64`, and problems with 9 and 40.
TEST(Shapes, AConditionOverSizesAloneHasALimit) {
  const auto preparation = prepared("highest.json");
  ASSERT_TRUE(preparation.ok()) << preparation.error().sentence();
  const auto limits = problems_at_limits(preparation->subject->defaults.front());
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits.front().dimensions.at("window"), 64);
}

} // namespace
} // namespace lathe::refactor
