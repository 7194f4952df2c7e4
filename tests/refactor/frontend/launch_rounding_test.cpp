// Geometries that launchers make of real numbers.
#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

TEST(LaunchRounding, QuotientsAreRoundedAsTheyAreInC) {
  const auto sites = launches(R"(
#include <cmath>
__global__ void k(float* x) {}
void launch(float* x, int n, int m) {
  const float blocks = (float)n / 256;
  k<<<ceil(n / 256.0), 1>>>(x);
  k<<<(int)std::ceil(blocks), 1>>>(x);
  k<<<(unsigned)blocks, 1>>>(x);
  k<<<std::floor(blocks) + 1, 1>>>(x);
  k<<<ceil(n / 256), 1>>>(x);
  k<<<ceil((float)(n / 256)), 1>>>(x);
  k<<<(size_t)(ceil((float)n) / ((float)256)), 1>>>(x);
  k<<<(n + 255) / 256.f, 1>>>(x);
  k<<<ceil(((float)n / 2) / 128), 1>>>(x);
  k<<<ceil((double)n * m / 256), 1>>>(x);
}
)");
  ASSERT_EQ(sites.size(), 10u);
  EXPECT_EQ(sites[0].grid[0], "ceil_div(n, 256)");
  for (const std::int64_t n : {512, 513, 767, 768}) {
    const std::int64_t down = n / 256, up = (n + 255) / 256;
    const std::array expected{up, up, down, down + 1, down, down, down, up, up, (3 * n + 255) / 256};
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(value_of(sites[i].grid[0], {{"n", n}, {"m", 3}}), expected[i])
          << i << ": " << sites[i].grid[0] << " of " << n;
  }
}

TEST(LaunchRounding, WhatIsLeftOfAFractionIsNotRead) {
  const auto sites = launches(R"(
#include <cmath>
__global__ void k(float* x) {}
void launch(float* x, int n) {
  k<<<(int)(n * 0.7f), 1>>>(x);
  k<<<ceil(n * 0.7 / 256), 1>>>(x);
  k<<<ceil((float)n / 256 + 0.5f), 1>>>(x);
}
)");
  ASSERT_EQ(sites.size(), 3u);
  for (const LaunchSite& site : sites)
    EXPECT_FALSE(site.unreadable.empty()) << site.grid[0];
}

// As many libraries of point clouds have it.
TEST(LaunchRounding, LogarithmsAndPowersOfTwo) {
  const auto sites = launches(R"(
#include <algorithm>
#include <cmath>
int threads_for(int n) {
  const int power = std::log(static_cast<double>(n)) / std::log(2.0);
  return std::max(std::min(1 << power, 512), 1);
}
__global__ void k(float* x) {}
void launch(float* x, int n) {
  k<<<1, threads_for(n)>>>(x);
  k<<<(int)log2(n), static_cast<int>(std::ceil(std::log2(static_cast<float>(n))))>>>(x);
  k<<<std::pow(2, std::ceil(std::log2(n))), 32 - __builtin_clz(n)>>>(x);
  k<<<1, log2(n) * 8>>>(x);
}
)");
  ASSERT_EQ(sites.size(), 4u);
  for (const auto& [n, down, up] : {std::array{1, 0, 0}, {2, 1, 1}, {3, 1, 2}, {64, 6, 6}, {100, 6, 7}}) {
    const std::map<std::string, std::int64_t> sizes{{"n", n}};
    EXPECT_EQ(value_of(sites[0].block[0], sizes), 1 << down) << n;
    EXPECT_EQ(value_of(sites[1].grid[0], sizes), down) << n;
    EXPECT_EQ(value_of(sites[1].block[0], sizes), up) << n;
    EXPECT_EQ(value_of(sites[2].grid[0], sizes), 1 << up) << n;
    EXPECT_EQ(value_of(sites[2].block[0], sizes), down + 1) << n;
  }
  EXPECT_EQ(sites[3].block[0].find("log2"), std::string::npos); // of a real number, which is not read
}

} // namespace
} // namespace lathe::refactor
