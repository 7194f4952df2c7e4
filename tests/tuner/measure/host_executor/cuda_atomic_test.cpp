// libcu++'s atomic objects: what they compute, and that the checks see them as atomic accesses.
#include "tests/tuner/measure/host_executor/support.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace lathe::testing {
namespace {

using ::testing::ElementsAre;

// k(out, in, n) over 8 floats of the text's use.
HostRunResult watched(const std::string& source, const Launch& launch) {
  const HostKernel kernel = compile("#include <cuda/atomic>\n" + source, checked());
  auto out = HostBuffer::allocate(32), in = HostBuffer::allocate(32);
  EXPECT_TRUE(out.ok() && in.ok());
  HostRunOptions options;
  options.find_races = true;
  const std::vector<HostArgument> arguments{HostArgument::of(*out, "out"), HostArgument::of(*in, "in"),
                                            HostArgument::scalar(8)};
  auto result = kernel.run_isolated(launch, arguments, options);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result->outcome, Outcome::ok) << result->reason;
  return result.ok() ? *result : HostRunResult{};
}

TEST(CudaAtomic, EveryOperationOnIntegers) {
  const auto out = run<int>(R"(
#include <cuda/atomic>
__global__ void k(int* out, const int* in, int n) {
  if (threadIdx.x == 0) {
    out[0] = out[2] = out[4] = 0;
    out[1] = out[3] = -1;
    out[5] = 7;
  }
  __syncthreads();
  cuda::atomic_ref<int, cuda::thread_scope_device> sum(out[0]), all(out[1]), any(out[2]), odd(out[4]);
  sum.fetch_add(in[threadIdx.x], cuda::memory_order_relaxed);
  sum.fetch_sub(1);
  all.fetch_and(~(1 << threadIdx.x), cuda::std::memory_order_acq_rel);
  any |= 1 << threadIdx.x;
  odd.fetch_xor(threadIdx.x);
  cuda::atomic_ref<int>(out[3]).fetch_max(in[threadIdx.x]);
  cuda::atomic_ref<int, cuda::thread_scope_block>(out[5]).fetch_min(in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    out[6] = sum++ + --sum;
    out[7] = sum.exchange(100);
    int expected = 3;
    out[8] = sum.compare_exchange_strong(expected, 5);
    out[9] = expected;
    out[10] = sum.compare_exchange_weak(expected, 5, cuda::memory_order_release, cuda::memory_order_relaxed);
    out[11] = sum.load(cuda::memory_order_acquire);
    sum.store(6, cuda::memory_order_release);
    out[12] = sum;
    sum = 8;
    out[13] = sum.load();
  }
})",
                            shape(1, 4), 14, {1, 2, 3, 4});
  EXPECT_THAT(out, ElementsAre(8, ~15, 15, 4, 0, 1, 12, 6, 0, 100, 1, 5, 6, 8));
}

TEST(CudaAtomic, OtherTypesAndObjectsOfTheirOwn) {
  const auto out = run<double>(R"(
#include <cuda/std/atomic>
#include <cuda/atomic>
enum class Phase : unsigned char { before, behind };
__global__ void k(double* out, const double* in, int n) {
  __shared__ cuda::atomic<unsigned long long, cuda::thread_scope_block> count;
  __shared__ cuda::std::atomic<Phase> phase;
  __shared__ cuda::atomic<const double*> place;
  if (threadIdx.x == 0) {
    count = ~0ull;
    phase.store(Phase::before);
    place = in;
    out[0] = 0;
  }
  __syncthreads();
  count.fetch_add(2, cuda::memory_order_relaxed);
  cuda::atomic_ref<double, cuda::thread_scope_device>(out[0]).fetch_add(in[threadIdx.x]);
  const double* mine = place.fetch_add(1);
  Phase before = Phase::before;
  const bool is_first = phase.compare_exchange_strong(before, Phase::behind);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_block);
  __syncthreads();
  out[1] = static_cast<double>(count.load());
  if (is_first) out[2] = phase == Phase::behind;
  out[3 + (mine - in)] = *mine;
})",
                               shape(1, 4), 7, {0.5, 1, 2, 4});
  EXPECT_THAT(out, ElementsAre(7.5, 7, 1, 0.5, 1, 2, 4));
}

TEST(CudaAtomic, AThreadMayWaitForAnother) {
  const auto out = run<int>(R"(
#include <cuda/atomic>
__global__ void k(int* out, const int* in, int n) {
  __shared__ int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  cuda::atomic_ref<int, cuda::thread_scope_block> flag(ready);
  if (threadIdx.x == 0) while (flag.load(cuda::memory_order_acquire) == 0) {}
  if (threadIdx.x == 1) flag.wait(0);
  if (threadIdx.x == 40) { flag.store(in[0], cuda::memory_order_release); flag.notify_all(); }
  __syncthreads();
  out[threadIdx.x] = ready;
})",
                            shape(1, 64), 64, {9});
  EXPECT_TRUE(std::ranges::all_of(out, [](int value) { return value == 9; }));
}

TEST(CudaAtomic, ItsAccessesRaceWithPlainOnesOnly) {
  const std::string head = "__global__ void k(float* out, const float* in, int n) { "
                           "cuda::atomic_ref<float, cuda::thread_scope_device> all(out[0]); ";
  EXPECT_TRUE(watched(head + "all.fetch_add(1.f); }", shape(2, 8)).races.empty());
  EXPECT_TRUE(
      watched(head + "all.store(1.f); if (all.load() > 2) out[1 + threadIdx.x + 2 * blockIdx.x] = 1; }",
              shape(2, 2))
          .races.empty());
  EXPECT_FALSE(watched(head + "if (blockIdx.x == 0) out[0] = 1; else all.fetch_add(1.f); }", shape(2, 1))
                   .races.empty());
}

TEST(CudaAtomic, AReleasePublishesWhatWasWritten) {
  const auto with_order = [](const std::string& order) {
    return watched("__global__ void k(float* out, const float* in, int n) { out[1 + blockIdx.x] = in[0];\n"
                   "cuda::atomic_ref<float, cuda::thread_scope_device>(out[0]).fetch_add(1.f, "
                   "cuda::memory_order_" +
                       order + "); }",
                   shape(2, 1));
  };
  EXPECT_NE(with_order("relaxed").unfenced, "");
  EXPECT_EQ(with_order("release").unfenced, "");
}

TEST(CudaAtomic, ALoadReadsAndAStoreWrites) {
  const HostKernel kernel = compile(R"(
#include <cuda/atomic>
__global__ void k(float* out, float* in, int n) {
  cuda::atomic_ref<float>(out[0]).store(cuda::atomic_ref<float>(in[1]).load());
})",
                                    traced());
  auto out = HostBuffer::allocate(32), in = HostBuffer::allocate(32);
  const std::vector<HostArgument> arguments{HostArgument::of(*out, "out"), HostArgument::of(*in, "in"),
                                            HostArgument::scalar(8)};
  const auto result = kernel.run_isolated(shape(1, 1), arguments, {});
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->accesses.size(), 2u);
  EXPECT_TRUE(result->accesses[0].read.empty() && !result->accesses[0].written.empty());
  EXPECT_TRUE(!result->accesses[1].read.empty() && result->accesses[1].written.empty());
}

} // namespace
} // namespace lathe::testing
