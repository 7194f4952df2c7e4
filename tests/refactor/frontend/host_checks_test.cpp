// What a program checks before it launches, and the null pointers that it passes.
#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string KERNEL = R"(
__global__ void k(float* out, const float* in, const float* bias, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + (bias ? bias[i] : 0);
}
)";

TEST(HostChecks, MacrosOfPyTorchAreConditions) {
  const auto sites = launches("#include <torch/all.h>\n" + KERNEL + R"(
void run(torch::Tensor out, torch::Tensor in, torch::Tensor bias) {
  TORCH_CHECK(in.is_contiguous(), "in");
  TORCH_CHECK(in.size(1) % 8 == 0, "rows of vectors, not of ", in.size(1));
  TORCH_CHECK_LE(in.size(0), 65535);
  const int n = in.size(1);
  TORCH_CHECK(n <= 4096 || n == 8192);
  k<<<in.size(0), 128>>>(out.data_ptr<float>(), in.data_ptr<float>(), bias.data_ptr<float>(), n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].conditions, ElementsAre("n % 8 == 0", "in_size_0 <= 65535", "n <= 4096 || n == 8192"));
  EXPECT_THAT(sites[0].dimensions, ElementsAre("in_size_0", "n"));
}

TEST(HostChecks, FunctionsThatDoNotReturnOtherwise) {
  const auto sites = launches(KERNEL + R"(
#include <cassert>
#include <cstdlib>
#include <stdexcept>
[[noreturn]] void stop(const char*);
void die(const char* why) { std::abort(); }
void expect(bool holds, const char* why) {
  if (!holds)
    throw std::runtime_error(why);
}
template <class... A> struct Check {
  template <class C> explicit Check(C&& holds, A&&... told) {
    if (holds) return;
    [[unlikely]] die("");
  }
};
template <class C, class... A> Check(C&&, A&&...) -> Check<A...>;
void look(const void* pointer) {
  if (pointer != nullptr)
    return;
  std::exit(1);
}
void remark(bool holds, const char* why) {
  if (!holds)
    ++*const_cast<char*>(why);
}
void run(float* out, const float* in, const float* bias, int rows, int n) {
  expect(n % 4 == 0, "n");
  remark(n % 128 == 0, "n is better so");
  look(out);
  Check(n < 70000, "n");
  assert(rows > 1);
  if (rows > 1000000)
    stop("too many");
  if (n == 5)
    die("five");
  k<<<rows, 128>>>(out, in, bias, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].conditions,
              ElementsAre("n % 4 == 0", "n < 70000", "rows > 1", "!(rows > 1000000)", "!(n == 5)"));
}

TEST(HostChecks, WhatIsOnlyToldIsNoCheck) {
  const auto sites = launches("#include <glog/logging.h>\n" + KERNEL + R"(
void run(float* out, const float* in, const float* bias, int n) {
  CHECK_GT(n, 1) << "n";
  LOG_IF(WARNING, n > 70000) << "long";
  k<<<n, 128>>>(out, in, bias, n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].conditions, ElementsAre("n > 1"));
}

TEST(HostChecks, WhatHasChangedSinceIsNotKept) {
  const auto sites = launches("#include <torch/all.h>\n" + KERNEL + R"(
void run(torch::Tensor out, torch::Tensor in, int n) {
  TORCH_CHECK(in.size(0) == n);
  n = 2 * n;
  const int rows = in.size(0);
  k<<<rows, 128>>>(out.data_ptr<float>(), in.data_ptr<float>(), in.data_ptr<float>(), n);
}
)");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_THAT(sites[0].conditions, IsEmpty());
}

TEST(HostChecks, NullPointersAreSeen) {
  const auto sites = launches(KERNEL + R"(
void run(float* out, const float* in, const float* bias, int n) {
  k<<<n, 128>>>(out, in, nullptr, n);
}
void run_old(float* out, const float* in, const float* bias, int n) {
  k<<<n, 64>>>(out, in, NULL, n);
  k<<<n, 32>>>(out, in, 0, n);
  k<<<n, 16>>>(out, in, (const float*)0, n);
  k<<<n, 8>>>(out, in, n > 4 ? bias : nullptr, n);
}
void run_any(dim3 grid, float* out, const float* in, const float* bias, int n) {
  k<<<grid, 256>>>(out, in, bias, n);
}
void run_without(float* out, const float* in, int n) {
  run_any(dim3(n), out, in, nullptr, n);
}
)");
  std::vector<std::string> blocks;
  for (const LaunchSite& site : sites)
    if (site.null_pointers.contains("bias"))
      blocks.push_back(site.block[0]);
    else
      EXPECT_THAT(site.null_pointers, IsEmpty());
  EXPECT_THAT(blocks, testing::IsSupersetOf({"128", "64", "32", "16"}));
  EXPECT_THAT(blocks, testing::Not(Contains("8")));
}

} // namespace
} // namespace lathe::refactor
