#include <math.h>
// The highest of the last `window` numbers of a row. ITEMS a thread; STAGED: a block's numbers and those before them by way of shared memory.
template <int BLOCK, int ITEMS, int STAGED>
__global__ void highest_kernel(float* __restrict__ out, const float* __restrict__ in, const int width, const int window) {
  constexpr int TILE = BLOCK * ITEMS;
  const long long row = static_cast<long long>(blockIdx.y) * width;
  const int begin = blockIdx.x * TILE;
  if constexpr (STAGED) {
    extern __shared__ float tile[];
    const int held = TILE + window - 1;
    for (int k = threadIdx.x; k < held; k += BLOCK) {
      const int i = begin + k - (window - 1);
      tile[k] = i >= 0 && i < width ? in[row + i] : -INFINITY;
    }
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int own = item * BLOCK + threadIdx.x;
      if (begin + own >= width)
        break;
      float most = -INFINITY;
      for (int k = 0; k < window; ++k)
        most = fmaxf(most, tile[own + k]);
      out[row + begin + own] = most;
    }
  } else {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int i = begin + item * BLOCK + threadIdx.x;
      if (i < width) {
        float most = -INFINITY;
        for (int k = max(0, i - window + 1); k <= i; ++k)
          most = fmaxf(most, in[row + k]);
        out[row + i] = most;
      }
    }
  }
}
