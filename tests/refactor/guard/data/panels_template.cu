#include <cuda_fp16.h>

// A product of matrices by panels: each block has ROWS x COLUMNS of the result and goes through the depth in
// steps. Rows may be left over; columns and the depth may not.
template <int ROWS, int COLUMNS, int STEP, int THREADS, int MIN_BLOCKS>
__global__ void __launch_bounds__(MIN_BLOCKS == 0 ? 0 : (((ROWS == 16) && (COLUMNS == 32) && (STEP == 16) && (THREADS == 128)) ? 128 : 256), MIN_BLOCKS) panels(__half* c, const __half* a, const __half* b, int m, int n, int k) {
  __shared__ __half of_a[ROWS][STEP];
  __shared__ __half of_b[STEP][COLUMNS];
  constexpr int EACH = ROWS * COLUMNS / THREADS;
  const int across = n / COLUMNS;
  const int row = blockIdx.x / across * ROWS, column = blockIdx.x % across * COLUMNS;
  float sums[EACH] = {};
  for (int step = 0; step < k / STEP; ++step) {
    for (int i = threadIdx.x; i < ROWS * STEP; i += THREADS) {
      const int at = row + i / STEP;
      of_a[i / STEP][i % STEP] = at < m ? a[at * k + step * STEP + i % STEP] : __half(0.f);
    }
    for (int i = threadIdx.x; i < STEP * COLUMNS; i += THREADS)
      of_b[i / COLUMNS][i % COLUMNS] = b[(step * STEP + i / COLUMNS) * n + column + i % COLUMNS];
    __syncthreads();
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      const int i = threadIdx.x + e * THREADS;
      for (int s = 0; s < STEP; ++s)
        sums[e] += __half2float(of_a[i / COLUMNS][s]) * __half2float(of_b[s][i % COLUMNS]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    const int i = threadIdx.x + e * THREADS;
    if (row + i / COLUMNS < m)
      c[(row + i / COLUMNS) * n + column + i % COLUMNS] = __float2half(sums[e]);
  }
}
