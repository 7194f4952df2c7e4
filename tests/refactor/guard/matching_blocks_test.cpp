// Which blocks of two grids hold the same elements.
#include "refactor/guard/matching_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>

namespace lathe::refactor {
namespace {

std::uint64_t ceil_div(std::uint64_t value, std::uint64_t by) {
  return (value + by - 1) / by;
}

Launch grid_of(std::uint64_t x, std::uint64_t y = 1) {
  Launch launch;
  launch.grid = {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), 1};
  return launch;
}

// Whether of `elements` in a row those of the template's block lie in the raw kernel's blocks.
bool holds(std::uint64_t elements, std::uint64_t raw_block, std::uint64_t template_block, std::uint64_t at,
           Matching matching) {
  const auto around = blocks_around({at}, grid_of(ceil_div(elements, template_block)),
                                    grid_of(ceil_div(elements, raw_block)), matching);
  const std::uint64_t first = at * template_block / raw_block,
                      last = (std::min(elements, (at + 1) * template_block) - 1) / raw_block;
  for (std::uint64_t block = first; block <= last; ++block)
    if (!std::ranges::binary_search(around, block))
      return false;
  return true;
}

TEST(MatchingBlocks, PossibleOnesHoldEveryElementWhateverTheSizes) {
  std::mt19937_64 random(7);
  const auto up_to = [&](std::uint64_t most) { return 1 + random() % most; };
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t raw_block = up_to(1024), template_block = up_to(8192), elements = up_to(50'000'000);
    const std::uint64_t at = random() % ceil_div(elements, template_block);
    EXPECT_TRUE(holds(elements, raw_block, template_block, at, Matching::possible))
        << elements << " in " << raw_block << " and " << template_block << ", block " << at;
  }
}

// Blocks as launchers and configurations have them, at far sizes.
TEST(MatchingBlocks, LikelyOnesHoldEveryElementOfUsualBlocks) {
  std::mt19937_64 random(8);
  constexpr std::uint64_t WARPS[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 28, 32};
  const auto usual = [&] { return 32 * WARPS[random() % std::size(WARPS)]; };
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t raw_block = usual(), template_block = usual() << random() % 5,
                        elements = 1'000'000'000 + random() % 1'000'000'000,
                        blocks = ceil_div(elements, template_block);
    for (const std::uint64_t at : {random() % blocks, blocks - 1})
      EXPECT_TRUE(holds(elements, raw_block, template_block, at, Matching::likely))
          << elements << " in " << raw_block << " and " << template_block << ", block " << at;
  }
}

// The last block of a grid is seldom full: 48646 blocks are not 9730 times as many, but 4.9996 times.
TEST(MatchingBlocks, DoNotDriftWithTheRoundingOfTheLastBlock) {
  EXPECT_TRUE(holds(12453195, 256, 1280, 8660, Matching::likely));
  EXPECT_LE(blocks_around({8660}, grid_of(9730), grid_of(48646), Matching::likely).size(), 9);
}

TEST(MatchingBlocks, AnAxisOfAsManyBlocksIsTakenAsItIs) {
  const auto around = blocks_around({5 * 25 + 7}, grid_of(25, 97), grid_of(100, 97), Matching::likely);
  ASSERT_FALSE(around.empty());
  for (const std::uint64_t block : around)
    EXPECT_EQ(block / 100, 5);
  EXPECT_TRUE(std::ranges::binary_search(around, 5 * 100 + 28));
}

TEST(MatchingBlocks, GridsOfAsManyBlocksAreTakenInARow) {
  EXPECT_EQ(blocks_around({40}, grid_of(10, 10), grid_of(100, 1), Matching::likely),
            (std::vector<std::uint64_t>{38, 39, 40, 41, 42}));
}

TEST(MatchingBlocks, SharesAreTwoBlocksEachAndTheLastTwo) {
  EXPECT_EQ(blocks_at({0, 0.5}, 101), (std::vector<std::uint64_t>{0, 1, 50, 51, 99, 100}));
  EXPECT_EQ(blocks_at({0, 0.5}, 1), (std::vector<std::uint64_t>{0}));
}

} // namespace
} // namespace lathe::refactor
