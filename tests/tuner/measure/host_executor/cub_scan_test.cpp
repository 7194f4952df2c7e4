// cub's scans of a block with a callback, as the host executor's own text does them.
#include "tests/tuner/measure/host_executor/support.h"

#include <algorithm>
#include <numeric>

namespace lathe::testing {
namespace {

// Two tiles, the second of which goes on where the first ended.
TEST(CubScan, CubScansCarryAPrefixFromTileToTile) {
  std::vector<int> numbers(128);
  std::iota(numbers.begin(), numbers.end(), 1);
  const auto out = run<int>(R"(
#include <cub/cub.cuh>
struct Carried {
  int so_far;
  __device__ int operator()(int of_tile) {
    const int before = so_far;
    so_far += of_tile;
    return before;
  }
};
struct Larger {
  __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};
__global__ void k(int* out, const int* in, int n) {
  using Scan = cub::BlockScan<int, 64>;
  __shared__ Scan::TempStorage storage;
  Carried carried{100}, largest{0};
  for (int tile = 0; tile < 2; ++tile) {
    const int i = tile * 64 + threadIdx.x;
    int before, with, pair[2] = {in[i], 1}, sums[2];
    Scan(storage).ExclusiveSum(in[i], before, carried);
    __syncthreads();
    Scan(storage).InclusiveScan(in[i], with, Larger(), largest);
    __syncthreads();
    Carried none{0};
    Scan(storage).ExclusiveSum(pair, sums, none);
    __syncthreads();
    out[i] = before;
    out[128 + i] = with;
    out[256 + i] = sums[1];
  }
})",
                            shape(1, 64), 384, numbers);
  for (int i = 0; i < 128; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(out[at], 100 + i * (i + 1) / 2) << i;
    EXPECT_EQ(out[128 + at], i < 64 ? i + 1 : std::max(64, i + 1)) << i;
    const int first = i < 64 ? 0 : 64;
    EXPECT_EQ(out[256 + at], (i + 1) * (i + 2) / 2 - first * (first + 1) / 2 + i - first) << i;
  }
}

TEST(CubScan, StorageThatIsNotGivenIsTheBlocksOwn) {
  const auto out = run<int>(R"(
#include <cub/cub.cuh>
__global__ void k(int* out, const int* in, int n) {
  int below, total;
  cub::BlockScan<int, 64>().ExclusiveSum(in[threadIdx.x], below);
  __syncthreads();
  total = cub::BlockReduce<int, 64>().Sum(below);
  out[blockIdx.x * 64 + threadIdx.x] = threadIdx.x == 0 ? total : below;
}
)",
                            shape(2, 64), 128, std::vector<int>(64, 3));
  for (const int block : {0, 64}) {
    EXPECT_EQ(out[block], 3 * 63 * 32);
    EXPECT_EQ(out[block + 1], 3);
    EXPECT_EQ(out[block + 63], 3 * 63);
  }
}

// As FlashInfer's sampling has it: as many bytes as cub's own storage takes, 296 for two floats of each of
// 1024 threads.
TEST(CubScan, StorageIsNoLargerThanCubs) {
  const std::string kernel = R"(
#include <cub/cub.cuh>
struct Pair { float a, b; };
struct Join {
  __device__ Pair operator()(const Pair& x, const Pair& y) const { return {x.a + y.a, x.b > y.b ? x.b : y.b}; }
};
union Storage {
  cub::BlockReduce<Pair, 1024>::TempStorage reduce;
  cub::BlockScan<int, 1024, cub::BLOCK_SCAN_WARP_SCANS>::TempStorage scan;
  cub::WarpReduce<int>::TempStorage of_warps[32];
};
__global__ void k(float* out, const float* in, int n) {
  extern __shared__ __align__(16) unsigned char memory[];
  static_assert(sizeof(Storage) <= 296);
  Storage& storage = *reinterpret_cast<Storage*>(memory);
  const Pair all = cub::BlockReduce<Pair, 1024>(storage.reduce).Reduce({in[threadIdx.x], in[threadIdx.x]}, Join());
  __syncthreads();
  int before;
  cub::BlockScan<int, 1024, cub::BLOCK_SCAN_WARP_SCANS>(storage.scan).ExclusiveSum(1, before);
  __syncthreads();
  const int lanes = cub::WarpReduce<int>(storage.of_warps[threadIdx.x / 32]).Sum(1);
  if (threadIdx.x == 0) { out[0] = all.a; out[1] = all.b; out[2] = lanes; }
  if (threadIdx.x == 999) out[3] = before;
})";
  std::vector<float> numbers(1024);
  std::iota(numbers.begin(), numbers.end(), 0.f);
  const auto out = run<float>(kernel, shape(1, 1024, 296), 4, numbers);
  EXPECT_EQ(out, (std::vector<float>{1023.f * 512, 1023, 32, 999}));
}

// What cub's documentation forbids, although a warp's exchange has nothing in shared memory.
TEST(CubScan, StorageThatIsUsedAgainTooEarlyIsARace) {
  const std::string again = R"(
#include <cub/cub.cuh>
__global__ void k(float* out, const float* in, int n) {
  using Reduce = cub::BlockReduce<float, 64>;
  __shared__ Reduce::TempStorage storage;
  const float a = Reduce(storage).Sum(in[threadIdx.x]);
  BARRIER
  const float b = Reduce(storage).Sum(a + 1);
  if (threadIdx.x == 0) out[0] = b;
})";
  const auto races = [&](const std::string& barrier) {
    std::string text = again;
    text.replace(text.find("BARRIER"), 7, barrier);
    const HostKernel kernel = compile(text, checked());
    auto out = HostBuffer::allocate(64 * sizeof(float)), in = HostBuffer::allocate(64 * sizeof(float));
    EXPECT_TRUE(out.ok() && in.ok());
    std::iota(in->as<float>().begin(), in->as<float>().end(), 1.f); // writes of what is there are no race
    HostRunOptions options;
    options.find_races = true;
    const std::vector<HostArgument> arguments{HostArgument::of(*out, "out"), HostArgument::of(*in, "in"),
                                              HostArgument::scalar(64)};
    const auto result = kernel.run(shape(1, 64), arguments, options);
    EXPECT_TRUE(result.ok() && result->outcome == Outcome::ok);
    return result.ok() ? result->races.size() : 0;
  };
  EXPECT_EQ(races("__syncthreads();"), 0u);
  EXPECT_GT(races(""), 0u);
}

} // namespace
} // namespace lathe::testing
