// Tensor cores: the device against the definition that the host executor's own test uses, and against the
// host executor on numbers whose sums are not exact.
#include "tests/gpu/cases.h"
#include "tests/tuner/measure/host_executor/matrix_cases.h"

#include "tuner/compile/compile.h"
#include "tuner/measure/host_executor/host_executor.h"
#include "tuner/measure/runner_device.h"

#include <bit>
#include <cmath>
#include <random>

namespace lathe::test {
namespace {

using lathe::testing::MatrixCase;
using Words = std::vector<std::uint32_t>;

class TensorCores : public ::testing::Test {
protected:
  void SetUp() override {
    auto opened = RunnerDevice::open(0);
    ASSERT_TRUE(opened.ok()) << opened.error().sentence();
    device_ = std::move(*opened);
  }

  Words on_device(const MatrixCase& one, const Words& in) {
    const auto compiled = compile_kernel(one.source, "k", {"-I/usr/local/cuda/include"},
                                         list_cuda_devices()->at(0).architecture(), "k.cu");
    EXPECT_TRUE(compiled.ok()) << compiled.error().sentence();
    if (!compiled.ok())
      return {};
    Launch launch;
    launch.grid[0] = 1;
    launch.block[0] = 32;
    CUfunction kernel = nullptr;
    EXPECT_TRUE(
        device_->load({*compiled->cubin, compiled->cubin_hash, compiled->entry, launch}, kernel).ok());
    DeviceMemory to, from;
    Words out(one.out.size());
    EXPECT_EQ(to.allocate(device_->cuda(), out.size() * 4), CUDA_SUCCESS);
    EXPECT_EQ(from.allocate(device_->cuda(), in.size() * 4), CUDA_SUCCESS);
    CUdeviceptr to_address = to.address(), from_address = from.address();
    EXPECT_EQ(device_->cuda().cuMemcpyHtoDAsync(from_address, in.data(), in.size() * 4, nullptr),
              CUDA_SUCCESS);
    int count = static_cast<int>(in.size());
    EXPECT_EQ(device_->cuda().cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    void* arguments[] = {&to_address, &from_address, &count};
    EXPECT_TRUE(device_->launch(kernel, launch, arguments).ok());
    EXPECT_TRUE(device_->wait(10).ok());
    EXPECT_EQ(device_->cuda().cuMemcpyDtoH(out.data(), to_address, out.size() * 4), CUDA_SUCCESS);
    return out;
  }

  std::unique_ptr<RunnerDevice> device_;
};

TEST_F(TensorCores, DoAsDefined) {
  int checked = 0;
  for (const auto& cases : {testing::multiplications(3), testing::matrix_moves(), testing::wmma_products(3)})
    for (const MatrixCase& one : cases) {
      EXPECT_EQ(on_device(one, one.in), one.out) << one.name;
      ++checked;
    }
  std::printf("%d instructions and shapes do on the device what their definition says\n", checked);
}

Words on_host(const MatrixCase& one, const Words& in) {
  const auto kernel = HostKernel::compile(one.source, "k", {});
  auto to = HostBuffer::allocate(one.out.size() * 4), from = HostBuffer::allocate(in.size() * 4);
  EXPECT_TRUE(kernel.ok() && to.ok() && from.ok());
  if (!kernel.ok() || !to.ok() || !from.ok())
    return {};
  std::copy(in.begin(), in.end(), from->as<std::uint32_t>().begin());
  const std::vector<HostArgument> arguments{HostArgument::of(*to, "out"), HostArgument::of(*from, "in"),
                                            HostArgument::scalar(static_cast<int>(in.size()))};
  Launch launch;
  launch.grid[0] = 1;
  launch.block[0] = 32;
  const auto result = kernel->run(launch, arguments, {});
  EXPECT_TRUE(result.ok() && result->outcome == Outcome::ok);
  return {to->as<std::uint32_t>().begin(), to->as<std::uint32_t>().end()};
}

// A tensor core keeps fewer bits of small terms: sums of 16 normal numbers are a few units of f32's last
// place off.
TEST_F(TensorCores, RoundSumsNearlyAsTheHostExecutorDoes) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const MatrixCase& one : testing::multiplications(3)) {
    const bool is_half = one.name.find("f32.f16.f16.f32") != std::string::npos;
    if (!is_half && one.name.find("f32.bf16.bf16.f32") == std::string::npos)
      continue;
    Words in = one.in;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const bool is_sum = static_cast<int>(i) % one.words_in >= one.words_in - one.words_out;
      const auto half = [&] {
        const auto value = static_cast<_Float16>(normal(random));
        return is_half ? std::bit_cast<std::uint16_t>(value)
                       : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(normal(random)) >> 16);
      };
      in[i] = is_sum ? std::bit_cast<std::uint32_t>(normal(random))
                     : static_cast<std::uint32_t>(half()) | static_cast<std::uint32_t>(half()) << 16;
    }
    const Words device = on_device(one, in), host = on_host(one, in);
    ASSERT_EQ(device.size(), host.size());
    float most = 0;
    int equal = 0;
    for (std::size_t i = 0; i < device.size(); ++i) {
      most = std::max(most, std::abs(std::bit_cast<float>(device[i]) - std::bit_cast<float>(host[i])));
      equal += device[i] == host[i];
    }
    std::printf("%s: %d of %zu bit for bit, the others at most %g off\n", one.name.c_str(), equal,
                device.size(), most);
    EXPECT_LT(most, 1e-5f) << one.name;
  }
}

} // namespace
} // namespace lathe::test
