// What CUDA promises about threads, barriers, warps, shared memory and atomics.
#include "tests/tuner/measure/host_executor/support.h"

#include <bit>
#include <numeric>

namespace lathe::testing {
namespace {

std::vector<int> counted(std::size_t count, int first = 0) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

TEST(Indices, AllThreeAxes) {
  const auto out = run<int>(R"(
__global__ void k(int* out, const int*, int) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned size = blockDim.x * blockDim.y * blockDim.z;
  out[block * size + thread] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x +
                               10000 * blockIdx.y + 100000 * blockIdx.z;
})",
                            {{2, 3, 2}, {4, 2, 3}, 0}, 12 * 24, {0});
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[23], 3 + 10 + 200);
  EXPECT_EQ(out[11 * 24 + 23], 213 + 1000 + 20000 + 100000);
}

constexpr const char* block_sum = R"(
__global__ void k(int* out, const int* in, int n) {
  __shared__ int part[256];
  part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
})";

TEST(Barriers, TreeReductionUnderEverySchedule) {
  for (const HostSchedule schedule :
       {HostSchedule::forward, HostSchedule::reverse, HostSchedule::random, HostSchedule::interleaved,
        HostSchedule::warps, HostSchedule::interrupted}) {
    HostRunOptions options;
    options.schedule = schedule;
    const auto out = run<int>(block_sum, shape(2, 256), 2, counted(512), options);
    EXPECT_EQ(out, (std::vector<int>{255 * 128, 255 * 128 + 256 * 256}));
  }
}

TEST(Barriers, CountedOverAllBlocks) {
  const HostKernel kernel = compile("__global__ void k(int* out) { __syncthreads(); __syncthreads(); }");
  auto out = HostBuffer::allocate(64);
  ASSERT_TRUE(out.ok());
  const std::vector<HostArgument> arguments{HostArgument::of(*out)};
  const auto result = kernel.run(shape(3, 64), arguments);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->barriers, 6u);
}

TEST(Barriers, ThreadsThatReturnedAreNotWaitedFor) {
  const auto out = run<int>(R"(
__global__ void k(int* out, const int* in, int n) {
  __shared__ int seen;
  if (threadIdx.x >= 40) return;
  if (threadIdx.x == 0) seen = in[0];
  __syncthreads();
  out[threadIdx.x] = seen;
})",
                            shape(1, 64), 40, {7});
  EXPECT_EQ(out, std::vector<int>(40, 7));
}

TEST(Barriers, VotesOfTheBlock) {
  const auto out = run<int>(R"(
__global__ void k(int* out, const int* in, int n) {
  const bool mine = threadIdx.x < 3;
  const int count = __syncthreads_count(mine), some = __syncthreads_or(mine), every = __syncthreads_and(mine);
  if (threadIdx.x == 0) { out[0] = count; out[1] = some != 0; out[2] = every != 0; }
})",
                            shape(1, 96), 3, {0});
  EXPECT_EQ(out, (std::vector<int>{3, 1, 0}));
}

TEST(Shared, DynamicOfTheLaunch) {
  const auto out = run<int>(R"(
extern __shared__ int part[];
__global__ void k(int* out, const int* in, int n) {
  part[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
})",
                            shape(1, 64, 64 * sizeof(int)), 64, counted(64));
  EXPECT_EQ(out.front(), 63);
  EXPECT_EQ(out.back(), 0);
}

TEST(Shared, IsPoisonedAtABlocksStart) {
  HostRunOptions options;
  options.shared_poison = std::byte{0x5a};
  const auto out = run<int>("__global__ void k(int* out, const int*, int) { __shared__ int s[4];"
                            " out[threadIdx.x] = s[threadIdx.x]; }",
                            shape(1, 4), 4, {0}, options);
  EXPECT_EQ(out, std::vector<int>(4, 0x5a5a5a5a));
}

TEST(Warps, Shuffles) {
  const auto out = run<int>(R"(
__global__ void k(int* out, const int* in, int n) {
  const int v = in[threadIdx.x];
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, v, 5);
  out[32 + threadIdx.x] = __shfl_up_sync(0xffffffffu, v, 3);
  out[64 + threadIdx.x] = __shfl_down_sync(0xffffffffu, v, 3, 8);
  out[96 + threadIdx.x] = __shfl_sync(0xffffffffu, v, 2, 16);
})",
                            shape(1, 32), 128, counted(32));
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], lane ^ 5);
    EXPECT_EQ(out[32 + lane], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(out[64 + lane], lane % 8 + 3 > 7 ? lane : lane + 3);
    EXPECT_EQ(out[96 + lane], lane / 16 * 16 + 2);
  }
}

TEST(Warps, VotesAndReductions) {
  const auto out = run<int>(R"(
__global__ void k(int* out, const int* in, int n) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned votes = __ballot_sync(0xffffffffu, lane % 4 == 1);
  const int sum = __reduce_add_sync(0xffffffffu, lane), top = __reduce_max_sync(0xffffffffu, lane);
  const bool every = __all_sync(0xffffffffu, lane < 32), some = __any_sync(0xffffffffu, lane > 31);
  const unsigned same = __match_any_sync(0xffffffffu, lane / 16);
  if (threadIdx.x == 33) { out[0] = votes; out[1] = sum; out[2] = top; out[3] = every; out[4] = some; out[5] = same; }
})",
                            shape(1, 64), 6, {0});
  EXPECT_EQ(out, (std::vector<int>{0x22222222, 496, 31, 1, 0, 0x0000ffff}));
}

TEST(Warps, PartialMask) {
  const auto out = run<int>(R"(
__global__ void k(int* out, const int* in, int n) {
  if (threadIdx.x < 8) out[threadIdx.x] = __shfl_sync(0xffu, threadIdx.x * 2, 7);
})",
                            shape(1, 32), 8, {0});
  EXPECT_EQ(out, std::vector<int>(8, 14));
}

TEST(Atomics, AddMaxExchangeCompare) {
  const auto out = run<int>(R"(
__global__ void k(int* out, const int* in, int n) {
  atomicAdd(&out[0], 1);
  atomicMax(&out[1], (int)threadIdx.x);
  atomicCAS(&out[2], 0, 1);
  atomicOr(&out[3], 1 << (threadIdx.x % 4));
  if (threadIdx.x == 0) atomicExch(&out[4], 9);
})",
                            shape(4, 128), 5, {0});
  EXPECT_EQ(out, (std::vector<int>{512, 127, 1, 15, 9}));
}

TEST(Atomics, ThoseThatNvccBuildsIn) {
  const auto out = run<int>(R"(
__global__ void k(int* out, const int* in, int n) {
  __nv_atomic_fetch_add(&out[0], 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  __nv_atomic_max(&out[1], threadIdx.x, __NV_ATOMIC_RELAXED);
  int expected = 0;
  if (__nv_atomic_compare_exchange_n(&out[2], &expected, 7, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED))
    __nv_atomic_sub((unsigned*)&out[3], 1, __NV_ATOMIC_RELAXED);
  else if (expected == 7)
    __nv_atomic_fetch_add((float*)&out[4], 0.5f, __NV_ATOMIC_RELAXED);
  if (threadIdx.x == 0) {
    int five = 5, before;
    __nv_atomic_exchange(&out[5], &five, &before, __NV_ATOMIC_RELAXED);
    __nv_atomic_store_n(&out[6], __nv_atomic_load_n(in, __NV_ATOMIC_ACQUIRE), __NV_ATOMIC_RELEASE);
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_SYSTEM);
    __nv_atomic_load(&out[6], &before, __NV_ATOMIC_RELAXED);
    __nv_atomic_store(&out[7], &before, __NV_ATOMIC_RELAXED);
  }
})",
                            shape(4, 128), 8, {42});
  EXPECT_EQ(out, (std::vector<int>{512, 127, 7, -1, std::bit_cast<int>(511 * 0.5f), 5, 42, 42}));
}

// CUDA has no atomic operations on `long`; a program that brings its own has them beside the others.
TEST(Atomics, OfLong) {
  const auto out = run<std::int64_t>("__global__ void k(long* out, const long* in, int n) {\n"
                                     "  atomicAdd(reinterpret_cast<unsigned long*>(&out[0]), 1);\n"
                                     "  atomicMax(&out[1], long(threadIdx.x) << 40);\n"
                                     "  atomicCAS_block(&out[2], 0, 5);\n}",
                                     shape(4, 32), 3, {0});
  EXPECT_EQ(out, (std::vector<std::int64_t>{128, std::int64_t{31} << 40, 5}));
  const auto own = run<std::int64_t>(R"(
namespace own {
using ::atomicAdd;
__device__ unsigned long atomicAdd(unsigned long* address, unsigned long value) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(address), 2ull * value);
}
__device__ void add(long* to) { atomicAdd(reinterpret_cast<unsigned long*>(to), 1ul); }
}
__global__ void k(long* out, const long* in, int n) { own::add(out); })",
                                     shape(4, 32), 1, {0});
  EXPECT_EQ(own.front(), 256);
}

TEST(Globals, ConstantsAndDeviceVariables) {
  const auto out = run<int>(R"(
__constant__ int table[4] = {2, 3, 5, 7};
__device__ int counter = 10;
__global__ void k(int* out, const int* in, int n) { out[threadIdx.x] = table[threadIdx.x] + counter; })",
                            shape(1, 4), 4, {0});
  EXPECT_EQ(out, (std::vector<int>{12, 13, 15, 17}));
}

TEST(Races, AMissingBarrierShowsUnderAnotherSchedule) {
  const std::string racy = R"(
__global__ void k(int* out, const int* in, int n) {
  __shared__ int s[64];
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[63 - threadIdx.x];
})";
  HostRunOptions forward, reverse;
  forward.schedule = HostSchedule::forward;
  reverse.schedule = HostSchedule::reverse;
  EXPECT_NE(run<int>(racy, shape(1, 64), 64, counted(64, 1), forward),
            run<int>(racy, shape(1, 64), 64, counted(64, 1), reverse));
}

TEST(Warps, LanesThatAskWhoIsThereAreToldPartsOfThem) {
  const char* text = "__global__ void k(unsigned* out, const unsigned* in, int n) {\n"
                     "  if (threadIdx.x % 3 == 0) return;\n"
                     "  const unsigned all = __activemask();\n"
                     "  out[threadIdx.x] = all;\n"
                     "  out[32 + threadIdx.x] = __reduce_add_sync(all, 1u);\n"
                     "}";
  constexpr unsigned THERE = 0xb6db6db6u;
  HostRunOptions options;
  const auto whole = run<unsigned>(text, shape(1, 32), 64, std::vector<unsigned>{0}, options);
  EXPECT_EQ(whole[1], THERE);
  options.parts_of_active_lanes = true;
  const auto parts = run<unsigned>(text, shape(1, 32), 64, std::vector<unsigned>{0}, options, checked());
  for (unsigned lane = 0; lane < 32; ++lane)
    if (THERE >> lane & 1) {
      EXPECT_TRUE(parts[lane] >> lane & 1) << lane;
      EXPECT_EQ(parts[lane] & ~THERE, 0u) << lane;
      EXPECT_EQ(parts[32 + lane], static_cast<unsigned>(__builtin_popcount(parts[lane]))) << lane;
    }
  EXPECT_NE(parts[1], THERE);
}

TEST(Races, AWarpThatRunsAheadShowsWhenOneGoesAfterTheOther) {
  // The first warp may overwrite its sum before the second has read it.
  const std::string racy = R"(
__global__ void k(int* out, const int* in, int n) {
  __shared__ int sums[2];
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) sums[warp] = in[warp];
  __syncthreads();
  const int total = __shfl_sync(0xffffffffu, sums[0] + sums[1], 0);
  if (threadIdx.x % 32 == 0) sums[warp] = 100;
  out[threadIdx.x] = total;
})";
  HostRunOptions forward, warps;
  warps.schedule = HostSchedule::warps;
  EXPECT_EQ(run<int>(racy, shape(1, 64), 64, {1, 2}, forward), std::vector<int>(64, 3));
  EXPECT_NE(run<int>(racy, shape(1, 64), 64, {1, 2}, warps), std::vector<int>(64, 3));
}

// What eight runs under drawn interruptions give.
std::vector<std::vector<int>> interrupted(const std::string& text, const Launch& launch, std::size_t size,
                                          const std::vector<int>& in) {
  std::vector<std::vector<int>> results;
  HostRunOptions options;
  options.schedule = HostSchedule::interrupted;
  for (options.seed = 1; options.seed <= 8; ++options.seed)
    results.push_back(run<int>(text, launch, size, in, options, checked()));
  return results;
}

TEST(Interruptions, ShowWhatAnotherThreadDoesBetweenALookAndAnUpdate) {
  const auto counts = [](const char* claim) {
    return std::string("__global__ void k(int* out, const int* in, int n) {\n"
                       "  const int key = in[threadIdx.x];\n"
                       "  if (*static_cast<volatile int*>(&out[1 + key]) == 0)\n"
                       "    if (") +
           claim + ") atomicAdd(&out[0], 1);\n}";
  };
  std::vector<int> keys(128);
  for (int i = 0; i < 128; ++i)
    keys[static_cast<std::size_t>(i)] = i % 5;
  for (const auto& out : interrupted(counts("atomicCAS(&out[1 + key], 0, 1) == 0"), shape(1, 128), 6, keys))
    EXPECT_EQ(out, (std::vector<int>{5, 1, 1, 1, 1, 1}));
  const std::string wrong = counts("(out[1 + key] = 1)");
  EXPECT_EQ(run<int>(wrong, shape(1, 128), 6, keys, {}, checked())[0], 5);
  std::size_t told = 0;
  for (const auto& out : interrupted(wrong, shape(1, 128), 6, keys))
    told += out[0] > 5;
  EXPECT_GE(told, 2u); // those with short runs
}

TEST(Interruptions, LetBlocksTakeTurns) {
  // The second ticket of a block follows its first where no other block has taken one.
  const auto taken = [](const char* ticket) {
    return std::string("__global__ void k(int* out, const int* in, int n) {\n"
                       "  __shared__ int mine[2];\n"
                       "  extern __shared__ int copies[];\n"
                       "  if (threadIdx.x == 0) mine[0] = atomicAdd(&out[0], 1);\n"
                       "  __syncthreads();\n"
                       "  if (threadIdx.x == 0) mine[1] = ") +
           ticket +
           ";\n"
           "  __syncthreads();\n"
           "  copies[threadIdx.x] = mine[threadIdx.x % 2];\n"
           "  __syncthreads();\n"
           "  if (threadIdx.x < 2) out[1 + copies[threadIdx.x + 2]] += 1;\n"
           "}";
  };
  const std::string right = taken("atomicAdd(&out[0], 1)"),
                    wrong = taken("(atomicAdd(&out[0], 1), mine[0] + 1)");
  for (const auto& out : interrupted(right, shape(4, 64, 256), 9, {0}))
    EXPECT_EQ(out, (std::vector<int>{8, 1, 1, 1, 1, 1, 1, 1, 1}));
  const std::vector<int> usual = run<int>(wrong, shape(4, 64, 256), 9, {0}, {}, checked());
  EXPECT_EQ(usual, (std::vector<int>{8, 1, 1, 1, 1, 1, 1, 1, 1}));
  std::size_t told = 0;
  for (const auto& out : interrupted(wrong, shape(4, 64, 256), 9, {0}))
    told += out != usual;
  EXPECT_GE(told, 3u);
}

TEST(Interruptions, LeaveShuffledSumsAlone) {
  const char* text = "__global__ void k(int* out, const int* in, int n) {\n"
                     "  __shared__ int part[4];\n"
                     "  int sum = in[blockIdx.x * blockDim.x + threadIdx.x];\n"
                     "  for (int offset = 16; offset > 0; offset /= 2)\n"
                     "    sum += __shfl_xor_sync(0xffffffffu, sum, offset);\n"
                     "  part[threadIdx.x / 32] = sum;\n"
                     "  __syncthreads();\n"
                     "  if (threadIdx.x == 0) out[blockIdx.x] = part[0] + part[1] + part[2] + part[3];\n"
                     "}";
  const auto usual = run<int>(text, shape(3, 128), 3, counted(384), {}, checked());
  for (const auto& out : interrupted(text, shape(3, 128), 3, counted(384)))
    EXPECT_EQ(out, usual);
}

TEST(Output, OfPrintf) {
  const HostKernel kernel = compile("#include <cstdio>\n__global__ void k(int* out) { if (threadIdx.x == 1)"
                                    " printf(\"thread %u says %d\\n\", threadIdx.x, 42); }");
  auto out = HostBuffer::allocate(64);
  ASSERT_TRUE(out.ok());
  const std::vector<HostArgument> arguments{HostArgument::of(*out)};
  const auto result = kernel.run(shape(1, 2), arguments);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output, "thread 1 says 42\n");
}

} // namespace
} // namespace lathe::testing
