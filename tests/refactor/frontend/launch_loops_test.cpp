// Loops of a launcher in front of, and around, a launch.
#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LaunchLoops, LoopsThatDoubleAreChoices) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void launch(float* x, int rows, int n) {
  int threads = 32;
  while (threads < n && threads < 1024) threads *= 2;
  int parts = 1;
  for (int i = 0; i < 3; ++i) parts += 2;
  k<<<dim3(rows, parts), threads>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].grid[1], "7");
  for (const auto& [n, threads] :
       std::map<std::int64_t, std::int64_t>{{1, 32}, {33, 64}, {900, 1024}, {9000, 1024}})
    EXPECT_EQ(value_of(sites[0].block[0], {{"n", n}}), threads);
}

TEST(LaunchLoops, LoopsThatDoubleUpToASizeAreChoices) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void launch(float* x, int n) {
  int threads = 32;
  while (threads < n) threads *= 2;
  k<<<n, threads>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  for (const auto& [n, threads] :
       std::map<std::int64_t, std::int64_t>{{1, 32}, {33, 64}, {1000, 1024}, {2000, 2048}})
    EXPECT_EQ(value_of(sites[0].block[0], {{"n", n}}), threads);
}

TEST(LaunchLoops, LoopsOverNumbersAreChoices) {
  const auto sites = launches(R"(
#include <initializer_list>
__global__ void k(float* x, int n) {}
void launch(float* x, int n) {
  const int threads = [&] {
    for (int t : {128, 256, 512}) {
      if (n <= t * 4) return t;
    }
    return 1024;
  }();
  k<<<(n + threads - 1) / threads, threads>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  for (const auto& [n, threads] :
       std::map<std::int64_t, std::int64_t>{{1, 128}, {512, 128}, {513, 256}, {2048, 512}, {2049, 1024}})
    EXPECT_EQ(value_of(sites[0].block[0], {{"n", n}}), threads);
}

TEST(LaunchLoops, LoopsThatRoundAreMultiples) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void launch(float* x, int n, int tile) {
  int up = n, down = n, more = n;
  while (up % tile != 0) up++;
  while (down % 64) { down -= 1; }
  for (; more % tile > 0; ++more) {}
  k<<<dim3(up / tile, down / 64, more / tile), 64>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_THAT(sites[0].assumed, IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 65}, {"tile", 32}}), 3);
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 64}, {"tile", 32}}), 2);
  EXPECT_EQ(value_of(sites[0].grid[1], {{"n", 200}}), 3);
  EXPECT_EQ(value_of(sites[0].grid[2], {{"n", 65}, {"tile", 32}}), 3);
}

TEST(LaunchLoops, LoopsThatDoMoreThanRoundAreNotMultiples) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void launch(float* x, int n, int tile) {
  int up = n, rounds = 0;
  while (up % tile != 0) { up++; tile++; }
  k<<<up, 64>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].grid[0], "up");
}

TEST(LaunchLoops, WhatALoopLeavesBehindIsASizeOfItsOwnAndSaidToBe) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
int next(int);
void launch(float* x, const int* offsets, int n) {
  int blocks = 0;
  for (int i = 0; i < n; ++i) blocks += next(i);
  k<<<blocks, 64>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].grid[0], "blocks");
  EXPECT_THAT(sites[0].assumed, ElementsAre(HasSubstr("blocks is a size of its own: the loop of line 6")));
}

// Of a grid that a loop halves, what it leaves behind is a size too, and its block stays.
TEST(LaunchLoops, WhatALoopLeavesOfAGrid) {
  const auto sites = launches(R"(
__global__ void k(float* x, unsigned n);
int limit();
void launch(float* x, unsigned n, unsigned threads) {
  dim3 grid, block;
  block.x = threads;
  grid.x = (n + threads - 1) / threads;
  while (grid.x > 20 * limit()) grid.x >>= 1;
  k<<<grid, block, block.x * sizeof(int)>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_THAT(sites[0].grid, ElementsAre("grid_x", "1", "1"));
  EXPECT_THAT(sites[0].block, ElementsAre("threads", "1", "1"));
  EXPECT_THAT(sites[0].assumed, ElementsAre(HasSubstr("grid_x is a size of its own: the loop of line 8")));
}

TEST(LaunchLoops, ALoopOverLaunchesIsReadAsInItsFirstRound) {
  const auto sites = launches(R"(
__global__ void k(float* x, int step, int n) {}
void sweep(float* x, int n, int limit) {
  for (int block = 64; block <= limit; block *= 2) {
    dim3 grid((n + block - 1) / block);
    k<<<grid, block>>>(x, 1, n);
  }
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].block[0], "64");
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 65}}), 2);
}

// Bodies that no end is known of are not unrolled again in every round of the loops around them.
TEST(LaunchLoops, DeepLoopsWithoutAKnownEndAreReadInNoTime) {
  std::string body = "    sum += (i * 7 + j * 5 + l * 3 + m) % 11;\n";
  for (int i = 0; i < 6; ++i)
    body += body;
  const auto begin = std::chrono::steady_clock::now();
  const auto sites = launches("__global__ void k(float* x, int n) {}\n"
                              "int sum;\n"
                              "void launch(float* x) {\n"
                              "  for (int i = 0; i < 120; ++i)\n  for (int j = 0; j < 120; ++j)\n"
                              "  for (int l = 0; l < 120; ++l)\n  for (int m = 0; m < 120; ++m) {\n" +
                              body + "  }\n  k<<<120, 64>>>(x, 1);\n}\n");
  EXPECT_EQ(sites.size(), 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(LaunchLoops, LoopsThatEndForAllSizesAreChoices) {
  const auto sites = launches(R"(
#include <algorithm>
__global__ void k(float* x, int n) {}
int block_of(int n) {
  int block = 1;
  int most = std::min(n / 4, 1024);
  while (block < most / 2) block *= 2;
  return std::max(block, 32);
}
void launch(float* x, int rows, int n) { k<<<rows, block_of(n)>>>(x, n); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  for (const auto& [n, block] :
       {std::pair(8, 32), std::pair(400, 64), std::pair(4096, 512), std::pair(1 << 20, 512)})
    EXPECT_EQ(value_of(sites[0].block[0], {{"n", n}}), block) << n;
}

TEST(LaunchLoops, WhatALoopComputesIsASizeOfItsOwn) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
int next(int);
void launch(float* x, int n) {
  int count = next(n);
  for (int i = 0; i < n; ++i) {
    count = next(count) * 2;
    k<<<(count + 63) / 64, 64>>>(x, count);
  }
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].dimensions.size(), 1u);
}

// A pass of a sort has a width and a step; the program has other ones in every round, and in the first these.
TEST(LaunchLoops, ArgumentsThatLoopsChangeAreKnownInTheFirstRound) {
  const auto sites = launches(R"(
__global__ void k(float* x, int step, int width, int round, int n) {}
int told();
void launch(float* x, int n) {
  int round = told();
  for (int width = 2; width <= n; width <<= 1)
    for (int step = width >> 1; step > 0; step >>= 1, ++round)
      k<<<(n + 255) / 256, 256>>>(x, step, width, round, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  const std::map<std::string, std::int64_t> first{{"step", 1}, {"width", 2}};
  EXPECT_EQ(sites[0].first_round, first);
  EXPECT_EQ(sites[0].arguments.at("step"), "");
  EXPECT_EQ(sites[0].arguments.at("n"), "n");
}

// However large the size is, the loop's end is known.
TEST(LaunchLoops, ANumberThatIsDoubledUpToASizeIsAPowerOfTwo) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
int next_power(int x) {
  int n = 1;
  while (n < x) n *= 2;
  return n;
}
void launch(float* x, int n) {
  unsigned above = 32;
  for (; above <= n; above = above << 1);
  k<<<next_power(n), 256, above>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_THAT(sites[0].dimensions, ElementsAre("n"));
  EXPECT_LT(sites[0].grid[0].size(), 100u) << sites[0].grid[0];
  const auto powers = {std::tuple(1, 1, 32),    std::tuple(2, 2, 32),         std::tuple(3, 4, 32),
                       std::tuple(32, 32, 64),  std::tuple(33, 64, 64),       std::tuple(63, 64, 64),
                       std::tuple(64, 64, 128), std::tuple(1000, 1024, 1024), std::tuple(1024, 1024, 2048)};
  for (const auto& [n, at_least, above] : powers) {
    EXPECT_EQ(value_of(sites[0].grid[0], {{"n", n}}), at_least) << n;
    EXPECT_EQ(value_of(sites[0].shared_bytes, {{"n", n}}), above) << n;
  }
}

} // namespace
} // namespace lathe::refactor
