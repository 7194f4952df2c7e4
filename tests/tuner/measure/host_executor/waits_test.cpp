// Threads that look at one place until another one changes it, of their block or of one that runs later.
#include "tests/tuner/measure/host_executor/support.h"

#include <chrono>

namespace lathe::testing {
namespace {

// Compiled to sanitize or to trace, and with threads and blocks that take turns.
std::vector<std::vector<float>> runs_of(const std::string& source, const Launch& launch, std::size_t size) {
  std::vector<std::vector<float>> all;
  const std::vector<float> in{7};
  all.push_back(run<float>(source, launch, size, in, {}, checked()));
  all.push_back(run<float>(source, launch, size, in, {}, traced()));
  for (const HostSchedule schedule :
       {HostSchedule::interrupted, HostSchedule::random, HostSchedule::reverse}) {
    HostRunOptions options;
    options.schedule = schedule;
    options.find_races = schedule == HostSchedule::random;
    options.reverse_blocks = schedule == HostSchedule::reverse;
    all.push_back(run<float>(source, launch, size, in, options, checked()));
  }
  return all;
}

// The first block waits for the last: those between run meanwhile, each with shared memory of its own.
TEST(Waits, ForABlockThatRunsLater) {
  const std::string source = R"(
__global__ void k(float* out, const float* in, int n) {
  __shared__ float own[32];
  volatile float* flag = out;
  own[threadIdx.x] = blockIdx.x;
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) { __threadfence(); flag[0] = 1; }
  if (blockIdx.x == 0 && threadIdx.x == 0) while (flag[0] != 1) {}
  __syncthreads();
  out[1 + blockIdx.x * blockDim.x + threadIdx.x] = own[31 - threadIdx.x] + in[0];
})";
  for (const std::vector<float>& out : runs_of(source, shape(5, 32), 1 + 5 * 32))
    for (std::size_t i = 0; i < 5 * 32; ++i)
      ASSERT_EQ(out[1 + i], static_cast<float>(i / 32) + 7) << i;
}

// Every block adds to what the one behind it has left, one after the other from the last.
TEST(Waits, ForEachOther) {
  const std::string source = R"(
__global__ void k(float* out, const float* in, int n) {
  extern __shared__ float left[];
  volatile float* done = out;
  if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x) while (done[blockIdx.x + 1] == 0) {}
  __syncthreads();
  left[threadIdx.x] = (blockIdx.x + 1 < gridDim.x ? done[blockIdx.x + 1] : 0) + in[0];
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); done[blockIdx.x] = left[blockDim.x - 1]; }
})";
  for (const std::vector<float>& out : runs_of(source, shape(12, 64, 64 * 4), 12))
    for (std::size_t i = 0; i < 12; ++i)
      ASSERT_EQ(out[i], 7.f * static_cast<float>(12 - i)) << i;
}

// All blocks meet, twice, by a counter.
TEST(Waits, ForAllBlocksOfTheGrid) {
  const std::string source = R"(
__device__ unsigned arrived;
__device__ void meet(unsigned round) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&arrived, 1u);
    while (atomicAdd(&arrived, 0u) < round * gridDim.x) {}
  }
  __syncthreads();
}
__global__ void k(float* out, const float* in, int n) {
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  out[at] = at;
  meet(1);
  const float other = out[all - 1 - at];
  meet(2);
  out[at] = other + in[0];
})";
  for (const std::vector<float>& out : runs_of(source, shape(6, 96), 6 * 96))
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], static_cast<float>(out.size() - 1 - i) + 7) << i;
}

// A thread of the same block that has not begun, and threads that all look.
TEST(Waits, ForThreadsOfTheBlock) {
  const std::string source = R"(
__global__ void k(float* out, const float* in, int n) {
  volatile float* flag = out + 256 * blockIdx.x;
  if (threadIdx.x < 200) while (flag[0] != 1) {}
  if (threadIdx.x == 255) flag[0] = 1;
  if (threadIdx.x > 0) flag[threadIdx.x] = in[0];
})";
  for (const std::vector<float>& out : runs_of(source, shape(2, 256), 512))
    for (std::size_t i = 1; i < 256; ++i)
      ASSERT_EQ(out[i], 7.f) << i;
}

TEST(Waits, ForNobodyEndSoon) {
  const std::string source = R"(
__global__ void k(float* out, const float* in, int n) {
  volatile float* flag = out;
  if (threadIdx.x == 0) while (flag[blockIdx.x] != 1) {}
  __syncthreads();
  out[8 + threadIdx.x] = in[0];
})";
  for (const unsigned blocks : {1u, 3u, 7u}) {
    const auto begin = std::chrono::steady_clock::now();
    const HostRunResult result = outcome(source, shape(blocks, 32), 128, checked(), 60);
    EXPECT_NE(result.outcome, Outcome::ok);
    EXPECT_NE(result.reason.find(WAITS_FOR_A_BLOCK), std::string::npos) << result.reason;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
  }
}

// More blocks wait than there is room for.
TEST(Waits, ForTooManyEndSoon) {
  const std::string source = R"(
__global__ void k(float* out, const float* in, int n) {
  volatile float* flag = out;
  if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x) while (flag[0] != 1) {}
  if (blockIdx.x + 1 == gridDim.x) flag[0] = 1;
})";
  const HostRunResult result = outcome(source, shape(4000, 512), 16, checked(), 60);
  EXPECT_NE(result.outcome, Outcome::ok);
  EXPECT_NE(result.reason.find(WAITS_FOR_A_BLOCK), std::string::npos) << result.reason;
}

// What only looks like a wait.
TEST(Waits, AreNotEveryLongLoop) {
  const std::string source = R"(
__global__ void k(float* out, const float* in, int n) {
  for (int i = 0; i < 300000; ++i) atomicAdd(&out[blockIdx.x], 1.f);
})";
  for (const std::vector<float>& out : runs_of(source, shape(3, 1), 3))
    for (const float sum : out)
      EXPECT_EQ(sum, 300000.f);
}

} // namespace
} // namespace lathe::testing
