// Kernels that nobody is seen to launch.
#include "refactor/app/usual_launch.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Assumed {
  std::vector<LaunchSite> launches;
  std::vector<std::string> notes;
};

Assumed assumed(const std::string& text) {
  ParseOptions options;
  options.overlay["/lathe/k.cu"] = text;
  Assumed result;
  const auto source = ParsedSource::parse("/lathe/k.cu", options);
  EXPECT_TRUE(source.ok()) << source.error().sentence();
  auto kernel = find_kernel(**source, "k");
  EXPECT_TRUE(kernel.ok()) << kernel.error().sentence();
  const auto extracted = extract_kernel(**source, *kernel);
  EXPECT_TRUE(extracted.ok()) << extracted.error().sentence();
  assume_launch(*extracted, options, *kernel, result.notes);
  result.launches = kernel->launches;
  return result;
}

constexpr const char* KERNEL = R"(
__global__ void k(float* x, float by, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= by;
}
)";

TEST(UsualLaunch, OfAKernelThatAnotherLanguageLaunches) {
  const Assumed found = assumed(KERNEL);
  ASSERT_EQ(found.launches.size(), 1u);
  EXPECT_THAT(found.launches[0].grid, ElementsAre("ceil_div(n, 256)", "1", "1"));
  EXPECT_THAT(found.launches[0].block, ElementsAre("256", "1", "1"));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("--grid and --block")));
}

TEST(UsualLaunch, OfAnImage) {
  const std::string image = R"(
__global__ void k(float* x, int width, int height) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column < width && row < height) x[row * width + column] *= 2;
}
)";
  const Assumed found = assumed(image);
  ASSERT_EQ(found.launches.size(), 1u);
  EXPECT_THAT(found.launches[0].grid, ElementsAre("ceil_div(width, 32)", "ceil_div(height, 8)", "1"));
  EXPECT_THAT(found.launches[0].block, ElementsAre("32", "8", "1"));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("32 x 8 threads")));
  // The launch's own block stays.
  const Assumed launched = assumed(image + R"(
struct Image { float blocks() const; };
void launch(const Image& image, float* x, int columns, int rows) {
  const int blocks = image.blocks() * 3.f;
  k<<<dim3(blocks * 1.5f, 2), dim3(16, 16)>>>(x, columns, rows);
}
)");
  ASSERT_EQ(launched.launches.size(), 1u);
  EXPECT_THAT(launched.launches[0].grid, ElementsAre("ceil_div(columns, 16)", "ceil_div(rows, 16)", "1"));
  EXPECT_THAT(launched.launches[0].block, ElementsAre("16", "16", "1"));
}

// What the launch says is kept: the block, and what is passed.
TEST(UsualLaunch, OfALaunchWhoseGridIsAskedOfTheProgram) {
  const Assumed found = assumed(std::string(KERNEL) + R"(
struct Pool { float load() const; };
void launch(const Pool& pool, float* x, int rows, int columns) {
  const int blocks = pool.load() * 3.f;
  k<<<blocks * 1.5f, 128>>>(x, 2.f, rows * columns);
}
)");
  ASSERT_EQ(found.launches.size(), 1u);
  EXPECT_THAT(found.launches[0].grid, ElementsAre("ceil_div(rows * columns, 128)", "1", "1"));
  EXPECT_EQ(found.launches[0].block[0], "128");
}

// Blocks that take rows are held against nothing: their number is a size like others.
TEST(UsualLaunch, OfRowsWhoseNumberAHelperKnows) {
  const std::string rows = R"(
__global__ void k(float* x, float by, int n) {
  __shared__ float sums[128];
  sums[threadIdx.x] = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sums[threadIdx.x] += x[blockIdx.x * n + i];
  __syncthreads();
  x[blockIdx.x * n + threadIdx.x] = sums[threadIdx.x ^ 1] * by;
}
struct Plan { float rows() const; };
)";
  const Assumed found = assumed(rows + R"(
void launch(const Plan& plan, float* x, int n) { k<<<plan.rows() * 1.5f, 128>>>(x, 2.f, n); }
)");
  ASSERT_EQ(found.launches.size(), 1u);
  EXPECT_THAT(found.launches[0].grid, ElementsAre("blocks_x", "1", "1"));
  EXPECT_EQ(found.launches[0].block[0], "128");
  EXPECT_TRUE(found.launches[0].unreadable.empty());
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("blocks_x is a size of its own")));
  // Nothing says how many threads there are.
  const Assumed without_block = assumed(rows + R"(
void launch(const Plan& plan, float* x, int n) {
  k<<<plan.rows() * 1.5f, plan.rows() * 2.5f>>>(x, 2.f, n);
}
)");
  ASSERT_EQ(without_block.launches.size(), 1u);
  EXPECT_FALSE(without_block.launches[0].unreadable.empty());
}

TEST(UsualLaunch, ALaunchThatCanBeReadStays) {
  const Assumed found =
      assumed(std::string(KERNEL) + "void launch(float* x, int n) { k<<<7, 96>>>(x, 2.f, n); }");
  ASSERT_EQ(found.launches.size(), 1u);
  EXPECT_EQ(found.launches[0].grid[0], "7");
  EXPECT_TRUE(found.notes.empty());
}

} // namespace
} // namespace lathe::refactor
