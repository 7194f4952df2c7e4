// Sums since the last head of a segment, inclusive, over the first lengths[row] columns of every row; the rest of a row is zero. A thread
// has ITEMS neighbouring columns of a tile, which go through shared memory where STAGED. With two TURNS warps' sums alternate between two
// places, and a tile has one barrier.
template <int BLOCK, int ITEMS, int STAGED, int TURNS>
__global__ void __launch_bounds__(BLOCK) segscan_kernel(int* __restrict__ out, int* __restrict__ tail, const int* __restrict__ in,
                                                        const unsigned* __restrict__ heads, const int* __restrict__ initial,
                                                        const int* __restrict__ lengths, const int rows, const int columns,
                                                        const long long pitch, const int words) {
  constexpr int WARPS = BLOCK / 32, TILE = BLOCK * ITEMS, SHARE = 32 * ITEMS;
  __shared__ unsigned warp_sums[TURNS][WARPS];
  __shared__ int warp_heads[TURNS][WARPS];
  __shared__ unsigned tile[STAGED != 0 ? TILE : 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int turn = 0;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const int length = max(min(lengths[row], columns), 0);
    const int* from = in + row * pitch;
    int* to = out + row * pitch;
    const unsigned* marks = heads + row * words;
    unsigned carry = static_cast<unsigned>(initial[row]);
    for (long long first = 0; first < length; first += TILE) {
      const long long begin = first + warp * SHARE, base = begin + lane * ITEMS;
      unsigned values[ITEMS];
      if constexpr (STAGED != 0) {
        unsigned* mine = tile + warp * SHARE;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
          const long long i = begin + k * 32 + lane;
          mine[k * 32 + lane] = i < length ? static_cast<unsigned>(from[i]) : 0u;
        }
        __syncwarp();
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
          values[k] = mine[lane * ITEMS + k];
      } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
          values[k] = base + k < length ? static_cast<unsigned>(from[base + k]) : 0u;
      }
      unsigned bits = 0u;
      if (base < length) {
        bits = marks[base / 32] >> (base % 32);
        if (base + ITEMS > length)
          bits &= (1u << static_cast<int>(length - base)) - 1u;
      }
      unsigned total = 0u;
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) {
        total = (bits >> k & 1u) != 0u ? values[k] : total + values[k];
        values[k] = total;
      }
      int head = (bits & ((1u << ITEMS) - 1u)) != 0u ? 1 : 0;
      for (int step = 1; step < 32; step *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffffu, total, step);
        const int begun = __shfl_up_sync(0xffffffffu, head, step);
        if (lane >= step) {
          total += head ? 0u : other;
          head |= begun;
        }
      }
      const unsigned ahead = __shfl_up_sync(0xffffffffu, total, 1);
      const int ahead_head = __shfl_up_sync(0xffffffffu, head, 1);
      if (lane == 31) {
        warp_sums[turn][warp] = total;
        warp_heads[turn][warp] = head;
      }
      __syncthreads();
      unsigned before = carry;
      for (int w = 0; w < warp; ++w)
        before = warp_heads[turn][w] ? warp_sums[turn][w] : before + warp_sums[turn][w];
      unsigned all = before;
      for (int w = warp; w < WARPS; ++w)
        all = warp_heads[turn][w] ? warp_sums[turn][w] : all + warp_sums[turn][w];
      if (lane > 0)
        before = ahead_head ? ahead : before + ahead;
#pragma unroll
      for (int k = 0; k < ITEMS; ++k)
        if ((bits & ((2u << k) - 1u)) == 0u)
          values[k] += before;
      if constexpr (STAGED != 0) {
        unsigned* mine = tile + warp * SHARE;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
          mine[lane * ITEMS + k] = values[k];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
          const long long i = begin + k * 32 + lane;
          if (i < length)
            to[i] = static_cast<int>(mine[k * 32 + lane]);
        }
        __syncwarp();
      } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
          if (base + k < length)
            to[base + k] = static_cast<int>(values[k]);
      }
      carry = all;
      if constexpr (TURNS == 1)
        __syncthreads();
      else
        turn = 1 - turn;
    }
    for (long long i = length + static_cast<long long>(threadIdx.x); i < columns; i += BLOCK)
      to[i] = 0;
    if (threadIdx.x == 0)
      tail[row] = static_cast<int>(carry);
  }
}
