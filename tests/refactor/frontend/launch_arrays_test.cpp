// Numbers of a launch that stand in arrays of the launcher.
#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::IsEmpty;

// As ports of OpenCL programs have them.
TEST(LaunchArrays, ArraysThatAreSetElementByElement) {
  const auto sites = launches(R"(
#define TILE 16
__global__ void k(float* x, int rows, int columns) {}
void launch(float* x, int rows, int columns, bool wide) {
  size_t block[2];
  size_t grid[2];
  block[0] = 2 * TILE;
  block[1] = TILE / 8;
  grid[0] = (columns + TILE - 1) / TILE;
  grid[1] = rows;
  if (wide)
    grid[1] = rows / 2;
  k<<<dim3(grid[0], grid[1]), dim3(block[0], block[1])>>>(x, rows, columns);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"columns", 33}}), 3);
  EXPECT_EQ(value_of(sites[0].grid[1], {{"rows", 8}, {"wide", 1}}), 4);
  EXPECT_EQ(value_of(sites[0].grid[1], {{"rows", 8}, {"wide", 0}}), 8);
  EXPECT_EQ(sites[0].block[0], "32");
  EXPECT_EQ(sites[0].block[1], "2");
}

TEST(LaunchArrays, ArraysOfWhichSomeElementIsSetAreNotKnown) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void launch(float* x, int n, int which, int* counts) {
  int grid[2] = {7, 9};
  grid[which] = n;
  k<<<grid[0], 32>>>(x, n);
  int blocks[2] = {5, 3};
  for (int i = 0; i < n; ++i)
    blocks[0] += 1;
  counts[0] = 4;
  k<<<blocks[0], 64>>>(x, n);
  k<<<counts[0], 96>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_NE(sites[0].grid[0], "7");
  EXPECT_NE(sites[1].grid[0], "5");
  EXPECT_NE(sites[1].grid[0], "6");
  EXPECT_EQ(sites[2].grid[0], "counts_0") << "what a pointer points to is not followed";
}

} // namespace
} // namespace lathe::refactor
