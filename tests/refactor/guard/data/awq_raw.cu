#include <cuda_fp16.h>
// Weights of four bits with a scale and a zero point for every group of rows, eight to a word in the interleaved order, become halves.
__global__ void awq_kernel(__half* out, const unsigned int* packed, const unsigned int* zeros, const __half* scales, const int rows, const int words, const int group) {
  const int word = blockIdx.x * 128 + threadIdx.x;
  const int row = blockIdx.y;
  if (word >= words)
    return;
  const int which = row / group;
  const unsigned int quants = packed[static_cast<long long>(row) * words + word];
  const unsigned int points = zeros[static_cast<long long>(which) * words + word];
  const __half* scale = scales + (static_cast<long long>(which) * words + word) * 8;
  __half* result = out + (static_cast<long long>(row) * words + word) * 8;
  for (int j = 0; j < 8; ++j) {
    const int shift = 16 * (j % 2) + 4 * (j / 2);
    const int value = static_cast<int>(quants >> shift & 15) - static_cast<int>(points >> shift & 15);
    result[j] = __hmul(__int2half_rn(value), scale[j]);
  }
}
