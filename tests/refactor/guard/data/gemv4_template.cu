#include <cuda_fp16.h>

// Rows of weights of four bits around eight, eight a word and with a scale for each group, times a vector: ROWS rows a warp.
template <int WARPS, int ROWS, int UNROLL>
__global__ void gemv4_kernel(float* __restrict__ y, const unsigned* __restrict__ words, const __half* __restrict__ scales, const __half* __restrict__ x,
                             const int rows, const int cols, const int group) {
  const int first = (blockIdx.x * WARPS + threadIdx.x / 32) * ROWS, lane = threadIdx.x % 32;
  const int count = cols / 8, groups = (cols + group - 1) / group;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int row = first + r;
    if (row >= rows)
      return;
    float sum = 0.f;
#pragma unroll UNROLL
    for (int w = lane; w < count; w += 32) {
      const unsigned word = words[static_cast<size_t>(row) * count + w];
      const float scale = __half2float(scales[row * groups + w * 8 / group]);
      float part = 0.f;
      for (int k = 0; k < 8; ++k)
        part += static_cast<float>(static_cast<int>(word >> (4 * k) & 15u) - 8) * __half2float(x[w * 8 + k]);
      sum += part * scale;
    }
    for (int d = 16; d > 0; d /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane == 0)
      y[row] = sum;
  }
}
