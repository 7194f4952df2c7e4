// Launchers that ask PyTorch: which type an instance is for, and which device there is.
#include "refactor/frontend/frontend.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::IsEmpty;

TEST(FrameworkLaunches, TheStableInterfaceDispatchesTypesToo) {
  const auto found = launches(R"(
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/Dispatch.h>
template <class T> __global__ void k(T* out, int n) {}
void run(torch::stable::Tensor out) {
  THO_DISPATCH_SWITCH(out.scalar_type(), "k",
                      THO_DISPATCH_CASE(torch::headeronly::ScalarType::Float, [&] {
                        k<scalar_t><<<(out.numel() + 255) / 256, 256>>>((scalar_t*)out.data_ptr(), out.numel());
                      }));
}
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].unreadable, IsEmpty());
  EXPECT_EQ(found[0].instances.front().front(), "float");
}

TEST(FrameworkLaunches, TheTypeOfWhatTensorsAreComputedToIsRead) {
  const auto found = launches(R"(
#include <torch/extension.h>
template <class T> __global__ void k(T* out, int n) {}
void run(const at::Tensor a, const at::Tensor b, float scale) {
  const auto scores = at::bmm(a * scale, b.transpose(1, 2)).softmax(-1);
  AT_DISPATCH_FLOATING_TYPES(scores.scalar_type(), "k", [&] {
    k<<<(scores.numel() + 255) / 256, 256>>>(scores.data_ptr<scalar_t>(), scores.numel());
  });
}
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].unreadable, IsEmpty());
  EXPECT_THAT(found[0].instances, testing::Contains(testing::ElementsAre("float")));
}

TEST(FrameworkLaunches, TheComputeCapabilityIsTheDevices) {
  const auto found = launches(R"(
#include <ATen/cuda/CUDAContext.h>
struct Version { int major; };
template <int N> __global__ void k(float* x, int n) {}
void run(float* x, int n, Version version) {
  if (at::cuda::getCurrentDeviceProperties()->major >= 10)
    k<8><<<n, 256>>>(x, n);
  else if (version.major >= 10)
    k<4><<<n, 256>>>(x, n);
}
)");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].conditions, testing::ElementsAre("device.compute_major >= 10"));
  EXPECT_THAT(found[1].conditions, testing::Not(testing::Contains("device.compute_major >= 10")));
}

TEST(FrameworkLaunches, WhatATensorsOptionsAre) {
  const auto found = launches(R"(
#include <iostream>
#include <torch/extension.h>
__global__ void k(float* x, int n) {}
void run(torch::Tensor x) {
  if (x.options().dtype() != torch::kFloat32 || x.options().device() != x.device()) {
    std::cout << "Tensor: " << x.options() << std::endl;
    throw std::runtime_error("single precision on the device");
  }
  k<<<x.size(0), 256>>>(x.data_ptr<float>(), x.size(1));
}
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].unreadable, IsEmpty());
}

} // namespace
} // namespace lathe::refactor
