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

} // namespace
} // namespace lathe::testing
