// Which pairs of launches are a choice between two kernels, and why others are none.
#include "refactor/app/kernel_choice.h"

#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::HasSubstr;

constexpr const char* KERNELS = R"(
#include <cuda_runtime.h>
__global__ void small(float* x, int n) { if (threadIdx.x < n) x[blockIdx.x * n + threadIdx.x] += 1; }
__global__ void large(float* x, int n) { if (threadIdx.x < n) x[blockIdx.x * n + threadIdx.x] += 1; }
__global__ void other(float* x, int n) { if (threadIdx.x < n) x[blockIdx.x * n + threadIdx.x] += 1; }
__global__ void longer(float* x, int n, int stride) { x[blockIdx.x * stride] += n; }
)";

Result<KernelChoice> choice(const std::string& launcher, const std::string& second = "small") {
  ParseOptions options;
  options.overlay["/lathe/k.cu"] = KERNELS + launcher;
  LATHE_TRY(auto source, ParsedSource::parse("/lathe/k.cu", options));
  EXPECT_THAT(source->errors(), testing::IsEmpty());
  LATHE_TRY(const KernelInfo first_kernel, find_kernel(*source, "large"));
  LATHE_TRY(const KernelInfo second_kernel, find_kernel(*source, second));
  return find_choice(first_kernel, second_kernel);
}

std::string refusal(const std::string& launcher, const std::string& second = "small") {
  const auto found = choice(launcher, second);
  return found.ok() ? "found: " + found->condition : found.error().sentence();
}

TEST(KernelChoice, BothWaysOfAnIf) {
  const auto found = choice(R"(
void launch(float* x, int rows, int n) {
  if (rows >= 1024) large<<<rows / 8, 256>>>(x, n);
  else small<<<rows, 256>>>(x, n);
})");
  ASSERT_TRUE(found.ok()) << found.error().sentence();
  EXPECT_EQ(found->condition, "rows >= 1024");
  EXPECT_EQ(found->sites, (std::array<int, 2>{1, 1}));
}

TEST(KernelChoice, TheSecondWayIsTheFirstKernels) {
  const auto found = choice(R"(
void launch(float* x, int rows, int n) {
  if (rows < 1024) small<<<rows, 256>>>(x, n);
  else large<<<rows / 8, 256>>>(x, n);
})");
  ASSERT_TRUE(found.ok()) << found.error().sentence();
  EXPECT_EQ(found->condition, "!(rows < 1024)"); // of the first kernel, which stands second
}

TEST(KernelChoice, AnEarlyReturnAndTheDevicesMultiprocessors) {
  const auto found = choice(R"(
void launch(float* x, int rows, int n) {
  int device = 0, count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  const bool many = rows >= count * 16;
  if (many) {
    large<<<rows / 8, 256>>>(x, n);
    return;
  }
  small<<<rows, 256>>>(x, n);
})");
  ASSERT_TRUE(found.ok()) << found.error().sentence();
  EXPECT_EQ(found->condition, "rows >= device.multiprocessors * 16");
}

// The same further conditions on both ways leave one choice for each of them.
TEST(KernelChoice, PairsWithTheSameFurtherConditions) {
  const auto found = choice(R"(
void launch(float* x, int rows, int n) {
  if (rows >= 1024) {
    if (n % 4 == 0) large<<<rows / 8, 128>>>(x, n);
    else large<<<rows / 8, 256>>>(x, n);
  } else {
    if (n % 8 == 0) small<<<rows, 64>>>(x, n);
    else if (n % 4 == 0) small<<<rows, 128>>>(x, n);
    if (n % 4 == 0) small<<<rows, 256>>>(x, n);
  }
})");
  ASSERT_TRUE(found.ok()) << found.error().sentence();
  EXPECT_EQ(found->sites, (std::array<int, 2>{1, 3}));
}

TEST(KernelChoice, OtherParametersAreRefused) {
  EXPECT_THAT(refusal(R"(
void launch(float* x, int rows, int n) {
  if (rows >= 1024) large<<<rows / 8, 256>>>(x, n);
  else longer<<<rows, 256>>>(x, n, n);
})",
                      "longer"),
              HasSubstr("one has 2 parameters and the other 3"));
}

TEST(KernelChoice, OtherValuesAreRefused) {
  EXPECT_THAT(refusal(R"(
void launch(float* x, int rows, int n) {
  if (rows >= 1024) large<<<rows / 8, 256>>>(x, n);
  else small<<<rows, 256>>>(x, 2 * n);
})"),
              HasSubstr("different values for 'n'"));
}

TEST(KernelChoice, AnUnreadableConditionIsRefused) {
  EXPECT_THAT(refusal(R"(
void launch(float* x, int rows, int n) {
  if (reinterpret_cast<unsigned long>(x) % 16 == 0) large<<<rows / 8, 256>>>(x, n);
  else small<<<rows, 256>>>(x, n);
})"),
              HasSubstr("no condition over the launcher's integers decides"));
}

TEST(KernelChoice, AThirdKernelIsRefused) {
  EXPECT_THAT(refusal(R"(
void launch(float* x, int rows, int n) {
  if (rows >= 1024) large<<<rows / 8, 256>>>(x, n);
  else if (rows >= 64) small<<<rows, 256>>>(x, n);
  else other<<<rows, 256>>>(x, n);
})"),
              HasSubstr("also 'rows >= 64' decides"));
}

TEST(KernelChoice, ALaunchInALoopIsRefused) {
  EXPECT_THAT(refusal(R"(
void launch(float* x, int rows, int n) {
  if (rows >= 1024) for (int i = 0; i < rows; ++i) large<<<8, 256>>>(x, n);
  else small<<<rows, 256>>>(x, n);
})"),
              HasSubstr("or a loop"));
}

TEST(KernelChoice, OneAfterTheOtherIsNoChoice) {
  EXPECT_THAT(refusal(R"(
void launch(float* x, int rows, int n) {
  large<<<rows / 8, 256>>>(x, n);
  small<<<rows, 256>>>(x, n);
})"),
              HasSubstr("no condition over the launcher's integers decides"));
}

} // namespace
} // namespace lathe::refactor
