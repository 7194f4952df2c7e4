// cub and cooperative groups as the host executor's own texts do them, and cuRAND.
#include "tests/tuner/measure/host_executor/support.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace lathe::testing {
namespace {

std::vector<int> counted(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(Libraries, CubReducesABlock) {
  const auto out = run<int>(R"(
#include <cub/block/block_reduce.cuh>
__global__ void k(int* out, const int* in, int n) {
  using Reduce = cub::BlockReduce<int, 96>;
  __shared__ typename Reduce::TempStorage storage;
  const int sum = Reduce(storage).Sum(in[threadIdx.x]);
  __syncthreads();
  const int most = Reduce(storage).Reduce(in[threadIdx.x], [](int a, int b) { return a > b ? a : b; }, 50);
  __syncthreads();
  int pair[2] = {in[threadIdx.x], 1000};
  const int both = Reduce(storage).Sum(pair);
  if (threadIdx.x == 0) { out[0] = sum; out[1] = most; out[2] = both; }
})",
                            shape(1, 96), 3, counted(96));
  EXPECT_EQ(out, (std::vector<int>{96 * 97 / 2, 50, 96 * 97 / 2 + 96000}));
}

// Failed with libstdc++ 13 until its headers were wrapped; with libstdc++ 12 it passes either way.
TEST(Libraries, StandardHeadersKeepTheirNoinlineAttribute) {
  const auto out = run<int>(R"(
#include <memory>
#include <string>
__device__ __noinline__ int twice(int x) { return 2 * x; }
__global__ void k(int* out, const int* in, int n) { out[threadIdx.x] = twice(in[threadIdx.x]); })",
                            shape(1, 4), 4, counted(4));
  EXPECT_EQ(out, (std::vector<int>{2, 4, 6, 8}));
}

TEST(Libraries, CubScansABlock) {
  const auto out = run<int>(R"(
#include <cub/cub.cuh>
__global__ void k(int* out, const int* in, int n) {
  using Scan = cub::BlockScan<int, 64>;
  __shared__ Scan::TempStorage storage;
  int before, total;
  Scan(storage).ExclusiveSum(in[threadIdx.x], before, total);
  __syncthreads();
  int items[2] = {in[threadIdx.x], 1}, sums[2];
  Scan(storage).InclusiveSum(items, sums);
  out[threadIdx.x] = before;
  out[64 + threadIdx.x] = sums[0];
  if (threadIdx.x == 5) out[128] = total;
})",
                            shape(1, 64), 129, counted(64));
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(out[static_cast<std::size_t>(i)], i * (i + 1) / 2);
    EXPECT_EQ(out[static_cast<std::size_t>(64 + i)], (i + 1) * (i + 2) / 2 + i);
  }
  EXPECT_EQ(out[128], 64 * 65 / 2);
}

TEST(Libraries, CubLoadsExchangesAndStores) {
  const auto out = run<int>(R"(
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
#include <cub/block/block_exchange.cuh>
__global__ void k(int* out, const int* in, int n) {
  using Load = cub::BlockLoad<int, 32, 3, cub::BLOCK_LOAD_STRIPED>;
  using Exchange = cub::BlockExchange<int, 32, 3>;
  using Store = cub::BlockStore<int, 32, 3, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union { Load::TempStorage load; Exchange::TempStorage exchange; Store::TempStorage store; } storage;
  int items[3];
  Load(storage.load).Load(in, items, 90, -1);
  __syncthreads();
  Exchange(storage.exchange).StripedToBlocked(items, items);
  __syncthreads();
  Store(storage.store).Store(out, items, 95);
})",
                            shape(1, 32), 96, counted(96));
  for (int i = 0; i < 95; ++i)
    EXPECT_EQ(out[static_cast<std::size_t>(i)], i < 90 ? i + 1 : -1) << i;
}

// Keys are the numbers' residues: equal ones keep their order.
TEST(Libraries, CubSortsABlock) {
  const auto out = run<int>(R"(
#include <cub/block/block_radix_sort.cuh>
__global__ void k(int* out, const int* in, int n) {
  using Sort = cub::BlockRadixSort<int, 32, 3, int>;
  using Floats = cub::BlockRadixSort<float, 32, 1>;
  __shared__ union { Sort::TempStorage sort; Floats::TempStorage floats; } storage;
  int keys[3], values[3];
  for (int i = 0; i < 3; ++i) {
    values[i] = in[threadIdx.x * 3 + i];
    keys[i] = values[i] % 7 - 3;
  }
  Sort(storage.sort).Sort(keys, values);
  for (int i = 0; i < 3; ++i) out[threadIdx.x * 3 + i] = values[i];
  __syncthreads();
  Sort(storage.sort).SortDescendingBlockedToStriped(keys, values);
  for (int i = 0; i < 3; ++i) out[96 + threadIdx.x + i * 32] = keys[i];
  __syncthreads();
  float number[1] = {(threadIdx.x % 2 ? -1.f : 1.f) * threadIdx.x};
  Floats(storage.floats).Sort(number);
  out[192 + threadIdx.x] = number[0];
})",
                            shape(1, 32), 224, counted(96));
  std::vector<int> expected = counted(96);
  std::ranges::stable_sort(expected, {}, [](int x) { return x % 7; });
  for (std::size_t i = 0; i < 96; ++i)
    EXPECT_EQ(out[i], expected[i]) << i;
  for (std::size_t i = 0; i < 96; ++i)
    EXPECT_EQ(out[96 + i], expected[95 - i] % 7 - 3) << i;
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(out[static_cast<std::size_t>(192 + i)], i < 16 ? 2 * i - 31 : 2 * i - 32) << i;
}

TEST(Libraries, CubComparesNeighbours) {
  const auto out = run<int>(R"(
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
struct Minus { __device__ int operator()(int a, int b) const { return a - b; } };
struct Differ { __device__ bool operator()(int a, int b) const { return a != b; } };
__global__ void k(int* out, const int* in, int n) {
  using Difference = cub::BlockAdjacentDifference<int, 32>;
  using Discontinuity = cub::BlockDiscontinuity<int, 32>;
  __shared__ union { Difference::TempStorage difference; Discontinuity::TempStorage flags; } storage;
  int items[2], result[2], groups[2], heads[2];
  for (int i = 0; i < 2; ++i) {
    const int x = in[threadIdx.x * 2 + i];
    items[i] = x * x;
    groups[i] = x / 3;
  }
  Difference(storage.difference).SubtractLeft(items, result, Minus());
  __syncthreads();
  Discontinuity(storage.flags).FlagHeads(heads, groups, Differ());
  for (int i = 0; i < 2; ++i) {
    out[threadIdx.x * 2 + i] = result[i];
    out[64 + threadIdx.x * 2 + i] = heads[i];
  }
})",
                            shape(1, 32), 128, counted(64));
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(out[static_cast<std::size_t>(i)], 2 * i + 1) << i;
    EXPECT_EQ(out[static_cast<std::size_t>(64 + i)], i == 0 || (i + 1) % 3 == 0) << i;
  }
}

TEST(Libraries, CubReducesAndScansAWarp) {
  const auto out = run<int>(R"(
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
__global__ void k(int* out, const int* in, int n) {
  using Reduce = cub::WarpReduce<int, 16>;
  __shared__ Reduce::TempStorage storage[4];
  __shared__ cub::WarpScan<int>::TempStorage scan[2];
  const int sum = Reduce(storage[threadIdx.x / 16]).Sum(in[threadIdx.x]);
  int before;
  cub::WarpScan<int>(scan[threadIdx.x / 32]).ExclusiveSum(1, before);
  if (threadIdx.x % 16 == 0) out[threadIdx.x / 16] = sum;
  out[4 + threadIdx.x] = before;
})",
                            shape(1, 64), 68, counted(64));
  for (int group = 0; group < 4; ++group)
    EXPECT_EQ(out[static_cast<std::size_t>(group)], 16 * 16 * group + 136);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[static_cast<std::size_t>(4 + i)], i % 32);
}

TEST(Libraries, CubReducesSegmentsOfAWarp) {
  const auto out = run<int>(R"(
#include <cub/cub.cuh>
#include <cuda/functional>
__global__ void k(int* out, const int* in, int n) {
  using Reduce = cub::WarpReduce<int>;
  using Half = cub::WarpReduce<int, 16>;
  __shared__ Reduce::TempStorage storage[2];
  __shared__ Half::TempStorage halves[2];
  const int lane = threadIdx.x;
  const bool is_head = lane == 0 || lane == 5 || lane == 20;
  const int heads = Reduce(storage[0]).HeadSegmentedSum(in[lane], is_head);
  const int tails = Reduce(storage[1]).TailSegmentedSum(in[lane], lane == 4 ? 1 : 0);
  const int most = Half(halves[lane / 16]).HeadSegmentedReduce(in[lane], lane % 16 == 8, cuda::maximum<>());
  if (is_head) out[lane] = heads;
  if (lane == 0 || lane == 5) out[32 + lane] = tails;
  if (lane % 8 == 0) out[64 + lane] = most;
})",
                            shape(1, 32), 96, counted(32));
  const auto at = [&](std::size_t i) { return out[i]; };
  EXPECT_EQ((std::vector<int>{at(0), at(5), at(20)}), (std::vector<int>{15, 195, 318}));
  EXPECT_EQ((std::vector<int>{at(32), at(37)}), (std::vector<int>{15, 513}));
  EXPECT_EQ((std::vector<int>{at(64), at(72), at(80), at(88)}), (std::vector<int>{8, 16, 24, 32}));
}

// Storage that is used again without a barrier is a race here as on a device: two schedules tell it.
TEST(Libraries, StorageReusedWithoutABarrierIsARace) {
  const std::string source = R"(
#include <cub/block/block_reduce.cuh>
__global__ void k(int* out, const int* in, int n) {
  using Reduce = cub::BlockReduce<int, 64>;
  __shared__ Reduce::TempStorage storage;
  int a = Reduce(storage).Sum(in[threadIdx.x]);
  int b = Reduce(storage).Sum(1);
  if (threadIdx.x == 0) { out[0] = a; out[1] = b; }
})";
  std::set<std::vector<int>> results;
  for (const HostSchedule schedule : {HostSchedule::forward, HostSchedule::reverse}) {
    HostRunOptions options;
    options.schedule = schedule;
    results.insert(run<int>(source, shape(1, 64), 2, counted(64), options));
  }
  EXPECT_EQ(results.size(), 2u);
}

TEST(AsynchronousCopies, ArriveWhenTheirThreadWaits) {
  const char* before = R"(
#include <cuda_pipeline.h>
__global__ void k(int* out, const int* in, int n) {
  __shared__ int tile[2][32];
  for (int stage = 0; stage < 2; ++stage) {
    __pipeline_memcpy_async(&tile[stage][threadIdx.x], &in[32 * stage + threadIdx.x], 4, stage);
    __pipeline_commit();
  })";
  const char* behind = R"(
  __syncthreads();
  out[threadIdx.x] = tile[0][31 - threadIdx.x];
  out[32 + threadIdx.x] = tile[1][31 - threadIdx.x];
})";
  // One byte of the second stage's is zero: the highest, which is so anyway.
  std::vector<int> reversed;
  for (int i = 0; i < 64; ++i)
    reversed.push_back(i < 32 ? 32 - i : 96 - i);
  const auto out_with = [&](const std::string& wait) {
    return run<int>(before + wait + behind, shape(1, 32), 64, counted(64), {}, checked());
  };
  EXPECT_EQ(out_with("__pipeline_wait_prior(0);"), reversed);
  EXPECT_EQ(out_with("asm volatile(\"cp.async.wait_all;\" ::: \"memory\");"), reversed);
  const auto one_stage = out_with("__pipeline_wait_prior(1);");
  EXPECT_TRUE(std::equal(reversed.begin(), reversed.begin() + 32, one_stage.begin()));
  EXPECT_NE(one_stage, reversed);
  EXPECT_NE(out_with(""), reversed);
}

TEST(AsynchronousCopies, OfAPipelineArriveWithTheirStage) {
  const auto out_with = [](const std::string& first, const std::string& second) {
    return run<int>(R"(
#include <cooperative_groups.h>
#include <cuda/pipeline>
__global__ void k(int* out, const int* in, int n) {
  __shared__ alignas(16) int tile[2][32];
  const auto block = cooperative_groups::this_thread_block();
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  if (threadIdx.x < 8)
    cuda::memcpy_async(&tile[0][4 * threadIdx.x], in + 4 * threadIdx.x, cuda::aligned_size_t<16>(16), pipe);
  pipe.producer_commit();
  pipe.producer_acquire();
  cuda::memcpy_async(block, tile[1], in + 32, sizeof(int) * 32, pipe);
  pipe.producer_commit();
  )" + first + "block.sync(); out[threadIdx.x] = tile[0][31 - threadIdx.x]; pipe.consumer_release();" +
                        second + "block.sync(); out[32 + threadIdx.x] = tile[1][31 - threadIdx.x]; }",
                    shape(1, 32), 64, counted(64), {}, checked());
  };
  std::vector<int> reversed;
  for (int i = 0; i < 64; ++i)
    reversed.push_back(i < 32 ? 32 - i : 96 - i);
  const std::string wait = "pipe.consumer_wait();";
  EXPECT_EQ(out_with(wait, wait), reversed);
  EXPECT_EQ(out_with("cuda::pipeline_consumer_wait_prior<1>(pipe);", wait), reversed);
  EXPECT_EQ(out_with("cuda::pipeline_consumer_wait_prior<0>(pipe);", ""), reversed);
  const auto one_stage = out_with(wait, "");
  EXPECT_TRUE(std::equal(reversed.begin(), reversed.begin() + 32, one_stage.begin()));
  EXPECT_NE(one_stage, reversed);
}

TEST(AsynchronousCopies, AreCheckedWhereTheyAreIssued) {
  const auto of_copy = [](const std::string& arguments) {
    return outcome("extern \"C\" __global__ void k(float* out, const float* in, int n) {\n"
                   "__shared__ alignas(16) float tile[64];\n"
                   "asm volatile(\"cp.async.ca.shared.global [%0], [%1], 16;\" :: "
                   "\"r\"((unsigned)__cvta_generic_to_shared(" +
                       arguments + "));\nasm volatile(\"cp.async.wait_all;\");\nout[0] = tile[4];\n}",
                   shape(1, 1), 64, checked());
  };
  EXPECT_EQ(of_copy("tile + 4)), \"l\"(in + 60").outcome, Outcome::ok);
  EXPECT_THAT(of_copy("tile + 4)), \"l\"(in + 64").reason, ::testing::HasSubstr("buffer 'in'"));
  EXPECT_THAT(of_copy("tile + 64)), \"l\"(in").reason, ::testing::HasSubstr("shared"));
  EXPECT_THAT(of_copy("tile + 1)), \"l\"(in").reason, ::testing::HasSubstr("misaligned"));
}

TEST(Libraries, GroupsKnowTheirPlaceAndReduce) {
  const auto out = run<int>(R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void k(int* out, const int* in, int n) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  const int sum = cg::reduce(tile, in[block.thread_rank()], cg::plus<int>());
  const int next = tile.shfl_down(in[threadIdx.x], 1);
  const unsigned odd = tile.ballot(threadIdx.x % 2);
  block.sync();
  out[threadIdx.x] = sum;
  out[64 + threadIdx.x] = next;
  if (threadIdx.x == 0) { out[128] = tile.meta_group_size(); out[129] = odd; }
})",
                            shape(1, 64), 130, counted(64));
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(out[static_cast<std::size_t>(i)], i / 16 * 256 + 136);
    EXPECT_EQ(out[static_cast<std::size_t>(64 + i)], i % 16 == 15 ? i + 1 : i + 2);
  }
  EXPECT_EQ(out[128], 4);
  EXPECT_EQ(out[129], 0xaaaa);
}

TEST(Libraries, LanesOfOneLabelWorkTogether) {
  const auto out = run<int>(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int* out, const int* in, int n) {
  if (threadIdx.x % 4 == 3) return;
  const cg::coalesced_group active = cg::coalesced_threads();
  const auto same = cg::labeled_partition(active, threadIdx.x % 4);
  const auto low = cg::binary_partition(active, threadIdx.x < 8);
  out[threadIdx.x] = same.size() * 100 + same.thread_rank();
  out[32 + threadIdx.x] = low.size();
})",
                            shape(1, 32), 64, counted(32));
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(out[i], i % 4 == 3 ? 0 : static_cast<int>(800 + i / 4)) << i;
    EXPECT_EQ(out[32 + i], i % 4 == 3 ? 0 : i < 8 ? 6 : 18) << i;
  }
}

TEST(Libraries, AGroupOfAnyKindIsPassedOn) {
  const auto out = run<int>(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int sum(cg::thread_group group, int* part, int value) {
  for (int i = group.size() / 2; i > 0; i /= 2) {
    part[group.thread_rank()] = value;
    group.sync();
    if (group.thread_rank() < i) value += part[group.thread_rank() + i];
    group.sync();
  }
  return value;
}
__global__ void k(int* out, const int* in, int n) {
  extern __shared__ int part[];
  cg::thread_block block = cg::this_thread_block();
  const int whole = sum(block, part, in[threadIdx.x]);
  const auto few = cg::tiled_partition(block, 8);
  const int mine = sum(few, part + threadIdx.x / 8 * 8, in[threadIdx.x]);
  if (threadIdx.x == 0) out[0] = whole;
  if (few.thread_rank() == 0) out[1 + threadIdx.x / 8] = mine;
})",
                            shape(1, 64, 64 * sizeof(int)), 9, counted(64));
  EXPECT_EQ(out[0], 64 * 65 / 2);
  for (int group = 0; group < 8; ++group)
    EXPECT_EQ(out[static_cast<std::size_t>(1 + group)], 64 * group + 36);
}

TEST(Libraries, ThrustsTuplesAndFunctionObjects) {
  const auto out = run<int>(R"(
#include <thrust/functional.h>
#include <thrust/tuple.h>
#include <cuda/std/tuple>
__device__ thrust::tuple<int, int> both(int x) { return thrust::make_tuple(x, 2 * x); }
__global__ void k(int* out, const int* in, int n) {
  int one, two;
  thrust::tie(one, two) = both(in[threadIdx.x]);
  out[threadIdx.x] = thrust::maximum<int>()(one, 5) + thrust::plus<int>()(two, thrust::get<0>(both(1)));
})",
                            shape(1, 8), 8, counted(8));
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(out[static_cast<std::size_t>(i)], std::max(i + 1, 5) + 2 * (i + 1) + 1);
}

TEST(Libraries, IntegersOfCudaCmath) {
  const auto out = run<int>(R"(
#include <cuda/cmath>
#include <cuda/std/complex>
__global__ void k(int* out, const int* in, int n) {
  const int i = in[threadIdx.x];
  out[4 * threadIdx.x] = cuda::ceil_div(i, 4u);
  out[4 * threadIdx.x + 1] = cuda::round_up(i, 8) - cuda::round_down(i, 8);
  out[4 * threadIdx.x + 2] = cuda::ilog2(i) + 10 * cuda::is_power_of_two(i);
  out[4 * threadIdx.x + 3] = cuda::next_power_of_two(i) - cuda::prev_power_of_two(i) +
                             (int)(cuda::std::complex<float>(i, 1) * cuda::std::complex<float>(0, 1)).imag();
})",
                            shape(1, 9), 36, counted(9));
  const auto row = [&](std::size_t i) {
    return std::vector<int>(out.begin() + static_cast<std::ptrdiff_t>(4 * (i - 1)),
                            out.begin() + static_cast<std::ptrdiff_t>(4 * i));
  };
  EXPECT_EQ(row(1), (std::vector<int>{1, 8, 10, 0 + 1}));
  EXPECT_EQ(row(5), (std::vector<int>{2, 8, 2, 4 + 5}));
  EXPECT_EQ(row(8), (std::vector<int>{2, 0, 13, 0 + 8}));
  EXPECT_EQ(row(9), (std::vector<int>{3, 8, 3, 8 + 9}));
}

TEST(Libraries, CubsTraitsPutKeysInOrder) {
  const auto out = run<int>(R"(
#include <cub/util_type.cuh>
template <class Key> __device__ int is_ordered(const Key* keys, int n) {
  using Bits = typename cub::Traits<Key>::UnsignedBits;
  Bits before = 0;
  int held = sizeof(Bits) == sizeof(Key);
  for (int i = 0; i < n; ++i) {
    Bits written;
    memcpy(&written, &keys[i], sizeof(Key));
    const Bits bits = cub::Traits<Key>::TwiddleIn(written);
    held &= (i == 0 || before < bits) && cub::Traits<Key>::TwiddleOut(bits) == written;
    before = bits;
  }
  return held;
}
__global__ void k(int* out, const int* in, int n) {
  const float reals[] = {-1e30f, -2.f, -0.f, 0.f, 1e-30f, 3.f};
  const __half halves[] = {__float2half(-3.f), __float2half(0.5f), __float2half(8.f)};
  const long long longs[] = {-(1ll << 40), -1, 0, 1, 1ll << 40};
  const unsigned char bytes[] = {0, 1, 127, 128, 255};
  out[0] = is_ordered(reals, 6);
  out[1] = is_ordered(halves, 3);
  out[2] = is_ordered(longs, 5);
  out[3] = is_ordered(bytes, 5);
})",
                            shape(1, 1), 4, {1});
  EXPECT_EQ(out, (std::vector<int>{1, 1, 1, 1}));
}

// NVIDIA's text runs as it is: a sequence that begins five numbers in goes on as the one that has drawn five.
TEST(Libraries, CurandDrawsItsSequences) {
  for (const char* state : {"curandState_t", "curandStatePhilox4_32_10_t"}) {
    const auto out = run<float>(std::string("#include <curand_kernel.h>\nusing State = ") + state + R"(;
__global__ void k(float* out, const float* in, int n) {
  State first, late;
  curand_init(1234, threadIdx.x, 0, &first);
  curand_init(1234, threadIdx.x, 5, &late);
  for (int i = 0; i < 5; ++i) out[threadIdx.x] = curand_uniform(&first);
  out[64 + threadIdx.x] = curand_uniform(&first) - curand_uniform(&late);
  out[128 + threadIdx.x] = curand_normal(&late);
})",
                                shape(1, 64), 192, std::vector<float>(1));
    EXPECT_EQ(std::set<float>(out.begin(), out.begin() + 64).size(), 64u) << state;
    EXPECT_TRUE(std::all_of(out.begin(), out.begin() + 64, [](float x) { return x > 0 && x <= 1; })) << state;
    EXPECT_TRUE(std::all_of(out.begin() + 64, out.begin() + 128, [](float x) { return x == 0; })) << state;
    const float mean = std::accumulate(out.begin() + 128, out.end(), 0.f) / 64;
    EXPECT_LT(std::abs(mean), 0.5f) << state;
  }
}

TEST(Libraries, BuiltinsHaveTheirTypes) {
  const auto out = run<int>(R"(
template <class T> __device__ int kind(const T&) { return 0; }
__device__ int kind(const uint3&) { return 1; }
__device__ int kind(const dim3&) { return 2; }
__global__ void k(int* out, const int* in, int n) {
  const dim3 place = threadIdx;
  const auto size = blockDim;
  out[0] = kind(threadIdx), out[1] = kind(blockIdx), out[2] = kind(blockDim), out[3] = kind(gridDim);
  out[4] = static_cast<int>(place.x + size.x);
})",
                            shape(1, 1), 5, counted(1));
  EXPECT_EQ(out, (std::vector<int>{1, 1, 2, 2, 1}));
}

TEST(Libraries, AGridOfSeveralBlocksDoesNotSynchronise) {
  const HostRunResult result = outcome(R"(
#include <cooperative_groups.h>
__global__ void k(float* out, const float* in, int n) { cooperative_groups::this_grid().sync(); }
)",
                                       shape(2, 32), 1, {});
  EXPECT_NE(result.outcome, Outcome::ok);
  EXPECT_NE(result.reason.find("grid"), std::string::npos);
}

} // namespace
} // namespace lathe::testing
