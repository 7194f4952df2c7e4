// The two largest numbers of every row, and where they are. What is no number is larger than all that are; of equal ones
// the first counts. Where a row has one column alone the second is -infinity, at -1. Rows lie `pitch` apart. A block has
// ROWS rows, one after the other; a thread takes VEC neighbouring columns at once. What the warps found is brought together
// by the first thread, or (MERGE) by the first warp; with two BUFFERS the next row's finds have a place of their own.
#include <math.h>

template <int VEC>
struct alignas(VEC * 4) Lot {
  float at[VEC];
};

struct Entry {
  float value;
  int index; // -1: there is none
};
struct Best {
  Entry first, second;
};

__device__ __forceinline__ bool ahead(const Entry a, const Entry b) {
  if (a.index < 0 || b.index < 0)
    return b.index < 0 && a.index >= 0;
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan != b_nan)
    return a_nan;
  if (!a_nan && a.value != b.value)
    return a.value > b.value;
  return a.index < b.index;
}

__device__ __forceinline__ void insert(Best& best, const Entry entry) {
  if (ahead(entry, best.first)) {
    best.second = best.first;
    best.first = entry;
  } else if (ahead(entry, best.second)) {
    best.second = entry;
  }
}

__device__ __forceinline__ Best merged(const Best a, const Best b) {
  if (ahead(b.first, a.first))
    return {b.first, ahead(a.first, b.second) ? a.first : b.second};
  return {a.first, ahead(b.first, a.second) ? b.first : a.second};
}

__device__ __forceinline__ Best of_other(const Best best, const int offset) {
  return {{__shfl_xor_sync(0xffffffffu, best.first.value, offset), __shfl_xor_sync(0xffffffffu, best.first.index, offset)},
          {__shfl_xor_sync(0xffffffffu, best.second.value, offset), __shfl_xor_sync(0xffffffffu, best.second.index, offset)}};
}

__device__ __forceinline__ void give(float* values, long long* indices, const long long row, const Best best) {
  values[row * 2] = best.first.value;
  values[row * 2 + 1] = best.second.value;
  indices[row * 2] = best.first.index;
  indices[row * 2 + 1] = best.second.index;
}

template <int BLOCK, int ROWS, int VEC, int MERGE, int BUFFERS>
__global__ void toptwo_kernel(float* __restrict__ values, long long* __restrict__ indices, const float* __restrict__ x, const int rows, const int columns,
                              const long long pitch) {
  constexpr int WARPS = BLOCK / 32;
  __shared__ Best of_warps[BUFFERS][WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int whole = VEC > 1 ? columns / VEC * VEC : 0;
  for (int r = 0; r < ROWS; ++r) {
    const long long row = static_cast<long long>(blockIdx.x) * ROWS + r;
    if (row >= rows)
      break;
    const float* from = x + row * pitch;
    Best best = {{-INFINITY, -1}, {-INFINITY, -1}};
    if constexpr (VEC > 1) {
      for (int c = threadIdx.x * VEC; c < whole; c += BLOCK * VEC) {
        const Lot<VEC> lot = *reinterpret_cast<const Lot<VEC>*>(from + c);
#pragma unroll
        for (int v = 0; v < VEC; ++v)
          insert(best, {lot.at[v], c + v});
      }
    }
    for (int c = whole + threadIdx.x; c < columns; c += BLOCK)
      insert(best, {from[c], c});
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      best = merged(best, of_other(best, offset));
    Best* finds = of_warps[r % BUFFERS];
    if (lane == 0)
      finds[warp] = best;
    __syncthreads();
    if constexpr (MERGE == 0) {
      if (threadIdx.x == 0) {
        for (int w = 1; w < WARPS; ++w)
          best = merged(best, finds[w]);
        give(values, indices, row, best);
      }
    } else {
      if (warp == 0) {
        best = {{-INFINITY, -1}, {-INFINITY, -1}};
        if (lane < WARPS)
          best = finds[lane];
#pragma unroll
        for (int offset = WARPS / 2; offset > 0; offset /= 2)
          best = merged(best, of_other(best, offset));
        if (lane == 0)
          give(values, indices, row, best);
      }
    }
    if constexpr (BUFFERS == 1 && ROWS > 1)
      __syncthreads();
  }
}
