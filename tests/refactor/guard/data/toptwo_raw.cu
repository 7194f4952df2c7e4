// The two largest numbers of every row, and where they are. What is no number is larger than all that are; of equal ones
// the first counts. Where a row has one column alone the second is -infinity, at -1. Rows lie `pitch` apart. A block has a
// row.
#include <math.h>

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

__global__ void toptwo_kernel(float* __restrict__ values, long long* __restrict__ indices, const float* __restrict__ x, const int rows, const int columns,
                              const long long pitch) {
  __shared__ Best of_warps[8];
  const long long row = blockIdx.x;
  if (row >= rows)
    return;
  const float* from = x + row * pitch;
  Best best = {{-INFINITY, -1}, {-INFINITY, -1}};
  for (int c = threadIdx.x; c < columns; c += 256)
    insert(best, {from[c], c});
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    best = merged(best, of_other(best, offset));
  if (threadIdx.x % 32 == 0)
    of_warps[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < 8; ++warp)
      best = merged(best, of_warps[warp]);
    values[row * 2] = best.first.value;
    values[row * 2 + 1] = best.second.value;
    indices[row * 2] = best.first.index;
    indices[row * 2 + 1] = best.second.index;
  }
}
