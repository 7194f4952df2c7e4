// Sizes at which loops go round.
#include "refactor/guard/shapes.h"
#include "tuner/spec/spec.h"

#include <gtest/gtest.h>

#include <filesystem>

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

} // namespace
} // namespace lathe::refactor
