// Products of rows of bytes, four at a time, scaled back to bytes by a shift that rounds to the nearest; saturating.
#include <cstdint>

__global__ void requant_kernel(int8_t* __restrict__ out, const int* __restrict__ a, const int* __restrict__ b, const int* __restrict__ bias, const int rows, const int columns, const int words, const int shift) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 4 + threadIdx.y;
  if (row >= rows || column >= columns)
    return;
  int sum = bias[column];
  for (int w = 0; w < words; ++w)
    sum = __dp4a(a[static_cast<long long>(row) * words + w], b[static_cast<long long>(column) * words + w], sum);
  sum = (sum + (1 << (shift - 1))) >> shift;
  out[static_cast<long long>(row) * columns + column] = static_cast<int8_t>(max(-128, min(127, sum)));
}
