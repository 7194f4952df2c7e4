// Element counts from what was touched: exact products, sums, grids, and bounds where nothing fits.
#include "refactor/app/extent_guess.h"

#include <gtest/gtest.h>

#include <functional>

namespace lathe::refactor {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

// Runs as the tracer makes them: each set of dimensions doubled, then all tripled.
ExtentGuess guess(const Sizes& base, const std::function<std::int64_t(const Sizes&)>& touched,
                  const std::string& grid = "",
                  const std::function<std::int64_t(const Sizes&)>& blocks = nullptr) {
  std::vector<Sizes> sizes;
  for (std::size_t set = 0; set < std::size_t{1} << base.size(); ++set) {
    Sizes next = base;
    std::size_t bit = 0;
    for (auto& [name, size] : next)
      size *= set >> bit++ & 1 ? 2 : 1;
    sizes.push_back(next);
  }
  sizes.push_back(base);
  for (auto& [name, size] : sizes.back())
    size *= 3;
  std::vector<std::int64_t> counts, values;
  for (const Sizes& run : sizes) {
    counts.push_back(touched(run));
    if (blocks)
      values.push_back(blocks(run));
  }
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> geometry;
  if (blocks)
    geometry.emplace_back(grid, values);
  return guess_extent(sizes, counts, geometry);
}

const Sizes plane{{"nx", 64}, {"ny", 32}};

TEST(ExtentGuess, Products) {
  EXPECT_EQ(guess(plane, [](const Sizes& s) { return s.at("nx") * s.at("ny"); }).count, "nx * ny");
  EXPECT_EQ(guess(plane, [](const Sizes& s) { return 2 * s.at("nx"); }).count, "2 * nx");
  EXPECT_EQ(guess(plane, [](const Sizes& s) { return s.at("ny") / 8; }).count, "ny / 8");
  EXPECT_EQ(guess(plane, [](const Sizes&) { return std::int64_t{256}; }).count, "256");
}

TEST(ExtentGuess, TheLeastOfTwoSizes) {
  EXPECT_EQ(guess({{"count", 48}, {"room", 48}},
                  [](const Sizes& s) { return 4 * std::min(s.at("count"), s.at("room")); })
                .count,
            "4 * min(count, room)");
}

TEST(ExtentGuess, TheGreaterOfTwoSizes) {
  EXPECT_EQ(guess({{"columns", 32}, {"rotated", 32}, {"rows", 8}},
                  [](const Sizes& s) { return std::max(s.at("columns"), s.at("rotated")); })
                .count,
            "max(columns, rotated)");
  EXPECT_EQ(
      guess({{"columns", 32}, {"rotated", 32}, {"rows", 8}},
            [](const Sizes& s) { return 2 * s.at("rows") * std::max(s.at("columns"), s.at("rotated")); })
          .count,
      "2 * rows * max(columns, rotated)");
}

TEST(ExtentGuess, StencilTouchesLessThanThePlane) {
  EXPECT_EQ(guess(plane, [](const Sizes& s) { return s.at("nx") * s.at("ny") - 1; }).count, "nx * ny");
  EXPECT_EQ(guess(plane, [](const Sizes& s) { return s.at("nx") * (s.at("ny") - 1) - 1; }).count, "nx * ny");
}

TEST(ExtentGuess, SumsStaySums) {
  EXPECT_EQ(guess(plane, [](const Sizes& s) { return s.at("nx") + 1; }).count, "1 + nx");
  // A row that is wider than it is written to: the last token's last head ends early.
  EXPECT_EQ(
      guess({{"heads", 4}, {"size", 64}, {"tokens", 2}},
            [](const Sizes& s) { return s.at("tokens") * s.at("heads") * s.at("size") - s.at("size") / 2; })
          .count,
      "heads * size * tokens");
}

TEST(ExtentGuess, SquaresAndCubes) {
  EXPECT_EQ(guess({{"n", 1}}, [](const Sizes& s) { return s.at("n") * s.at("n"); }).count, "n * n");
  EXPECT_EQ(guess({{"n", 16}}, [](const Sizes& s) { return s.at("n") * s.at("n") * s.at("n") / 2; }).count,
            "n * n * n / 2");
  EXPECT_EQ(
      guess({{"m", 4}, {"n", 8}}, [](const Sizes& s) { return s.at("m") * s.at("n") * s.at("n"); }).count,
      "m * n * n");
}

TEST(ExtentGuess, FollowsTheGrid) {
  const auto blocks = [](const Sizes& s) { return (s.at("nx") + 47) / 48; };
  EXPECT_EQ(guess({{"nx", 100}}, blocks, "ceil_div(nx, 48)", blocks).count, "ceil_div(nx, 48)");
}

TEST(ExtentGuess, BoundsWhatDoesNotGrowEvenly) {
  const ExtentGuess bound = guess({{"nx", 100}}, [](const Sizes& s) { return (s.at("nx") + 63) / 64 * 64; });
  EXPECT_EQ(bound.count, "2 * nx"); // 128 of 100 at the base
  EXPECT_NE(bound.why.find("guessed"), std::string::npos);
}

// Where three times the size was too much to run.
TEST(ExtentGuess, TwoRunsDoNotMakeASquareALine) {
  const std::vector<Sizes> sizes{{{"n", 4096}}, {{"n", 8192}}};
  EXPECT_EQ(guess_extent(sizes, {4096 * 4095 + 1, 8192 * 8191 + 1}, {}).count, "n * n");
  EXPECT_EQ(guess_extent(sizes, {3 * 4096, 3 * 8192}, {}).count, "3 * n");
}

// Gaussian elimination's first round: below the diagonal of a matrix whose column is 0.
TEST(ExtentGuess, ASizeOfZeroGrowsNothing) {
  const Sizes first_round{{"n", 16}, {"column", 0}};
  EXPECT_EQ(
      guess(first_round, [](const Sizes& s) { return s.at("n") * (s.at("n") - 1) + s.at("column") + 1; })
          .count,
      "n * n");
  EXPECT_EQ(guess(first_round, [](const Sizes& s) { return 4 * s.at("n"); }).count, "4 * n");
}

// Through the runs goes a sum that is -12 at sizes of one: no number of elements.
TEST(ExtentGuess, ASumThatIsNoneAtSmallSizesIsBounded) {
  const ExtentGuess bound = guess({{"height", 16}, {"width", 16}},
                                  [](const Sizes& s) { return 8 * s.at("height") + 4 * s.at("width") - 24; });
  EXPECT_EQ(bound.count, "height * width"); // 168 of 256 at the base
  EXPECT_NE(bound.why.find("small sizes"), std::string::npos);
}

TEST(ExtentGuess, UntouchedIsSaid) {
  EXPECT_NE(guess(plane, [](const Sizes&) { return std::int64_t{0}; }).why.find("not touched"),
            std::string::npos);
}

} // namespace
} // namespace lathe::refactor
