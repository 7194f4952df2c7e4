// Launches whose grid comes through other functions of the same file, and what cannot be read on the way.
#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(FollowedCalls, SetGridsThroughPointersAndReferences) {
  const auto sites = launches(R"(
__global__ void k(float* x, int rows, int columns) {}
static void shape_of_launch(int rows, int columns, dim3* grid, dim3& block) {
  block = dim3(32, 8);
  grid->x = (columns + 31) / 32;
  grid->y = (rows + 7) / 8;
}
void launch(float* x, int rows, int columns) {
  dim3 grid, block;
  shape_of_launch(rows, columns, &grid, block);
  k<<<grid, block>>>(x, rows, columns);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"columns", 65}}), 3);
  EXPECT_EQ(value_of(sites[0].grid[1], {{"rows", 17}}), 3);
  EXPECT_EQ(sites[0].block[1], "8");
}

// A function gives the kernel as a void*, and a dispatch's closure returns behind the assignment.
TEST(FollowedCalls, AKernelThatAReturningClosureSetsIsLaunched) {
  const auto sites = launches(R"(
template <class T, int way> __global__ void k(T* x, int n) {}
template <class T> void* choose(int way) {
  if (way == 1) return (void*)k<T, 1>;
  return NULL;
}
void launch(float* x, int n, int way) {
  void* kernel;
  [&] {
    switch (way) {
    case 1: return [&] { kernel = choose<float>(way); }();
    default: throw 1;
    }
  }();
  void* arguments[] = {&x, &n};
  cudaLaunchKernel(kernel, dim3((n + 63) / 64), dim3(64), arguments, 0, 0);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 65}}), 2);
}

TEST(FollowedCalls, SetSizesThroughReferences) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
static void split(int n, int& threads, int* blocks) {
  threads = 128;
  *blocks = (n + threads - 1) / threads;
}
void launch(float* x, int n) {
  int threads, blocks;
  split(n, threads, &blocks);
  k<<<blocks, threads>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 129}}), 2);
  EXPECT_EQ(sites[0].block[0], "128");
}

TEST(FollowedCalls, AGridThatUnknownCodeSetsIsNotRead) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
void elsewhere(int n, dim3* grid);
void launch(float* x, int n) {
  dim3 grid;
  elsewhere(n, &grid);
  k<<<grid, 64>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, Contains(HasSubstr("grid")));
}

TEST(FollowedCalls, CallersHandTheGridOver) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
static void run(dim3 grid, dim3 block, float* x, int n) { k<<<grid, block>>>(x, n); }
void launch(float* x, int count) {
  const dim3 block(16, 16);
  run(dim3((count + 255) / 256), block, x, count);
}
)");
  const auto readable =
      std::ranges::find_if(sites, [](const LaunchSite& site) { return site.unreadable.empty(); });
  ASSERT_NE(readable, sites.end());
  EXPECT_EQ(value_of(readable->grid[0], {{"count", 257}}), 2);
  EXPECT_EQ(readable->block[1], "16");
  EXPECT_EQ(readable->arguments.at("n"), "count");
}

TEST(FollowedCalls, MethodsComputeBlocksFromTheirObject) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
struct Device {
  int threads;
  int blocks(int n) const { return (n + threads - 1) / threads; }
};
void launch(const Device& device, float* x, int n) {
  k<<<device.blocks(n), device.threads>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(sites[0].block[0], "device_threads");
  EXPECT_EQ(value_of(sites[0].grid[0], {{"device_threads", 100}, {"n", 101}}), 2);
}

TEST(FollowedCalls, ABranchThatCannotBeReadIsAssumedNotToBeTaken) {
  const auto sites = launches(R"(
__global__ void k(float* x, int n) {}
dim3 blocks_for(long n) {
  long x = (n - 1) / 512 + 1, y = 1;
  if (x > 65535) {
    x = (long)sqrt((double)x);
    y = (n - 1) / (x * 512) + 1;
  }
  dim3 grid;
  grid.x = x;
  grid.y = y;
  return grid;
}
void launch(float* x, int n) { k<<<blocks_for(n), 512>>>(x, n); }
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].unreadable, IsEmpty());
  EXPECT_EQ(value_of(sites[0].grid[0], {{"n", 513}}), 2);
  EXPECT_EQ(sites[0].grid[1], "1");
  EXPECT_THAT(sites[0].conditions, Contains(HasSubstr("> 65535")));
  EXPECT_THAT(sites[0].assumed, Contains(HasSubstr("cannot be read")));
}

TEST(FollowedCalls, ATableOfKernelsLaunchesEach) {
  const auto sites = launches(R"(
template <int WIDTH> __global__ void k(float* x, int n) {}
void launch(float* x, int n, int width) {
  void (*kernels[])(float*, int) = {k<1>, k<2>, k<3>};
  kernels[width - 1]<<<(n + 63) / 64, 64>>>(x, n);
}
)");
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_THAT(sites[1].template_arguments, testing::ElementsAre("2"));
  EXPECT_THAT(sites[1].conditions, Contains("width - 1 == 1"));
  EXPECT_EQ(value_of(sites[2].grid[0], {{"n", 65}}), 2);
}

TEST(FollowedCalls, LaterRoundsTakeOtherCasesOfASwitch) {
  const std::string text = R"(
__global__ void small(float* x, int n) {}
__global__ void large(float* x, int n) {}
void launch(float* x, int n) {
  for (int width = 16; width < n; width *= 2) {
    const dim3 grid((n + width - 1) / width);
    switch (width) {
    case 16: small<<<grid, 64>>>(x, n); break;
    case 32: large<<<grid, 128>>>(x, n); break;
    }
  }
}
)";
  const auto first = launches(text, "small"), later = launches(text, "large");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(value_of(first[0].grid[0], {{"n", 33}}), 3);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(value_of(later[0].grid[0], {{"n", 33}}), 2);
  EXPECT_EQ(later[0].block[0], "128");
}

} // namespace
} // namespace lathe::refactor
