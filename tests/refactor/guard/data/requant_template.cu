// Products of rows of bytes, four at a time, scaled back to bytes by a shift that rounds to the nearest; saturating. ROWS rows a
// thread.
#include <cstdint>

template <int WIDTH, int ROWS, int UNROLL>
__global__ void requant_kernel(int8_t* __restrict__ out, const int* __restrict__ a, const int* __restrict__ b, const int* __restrict__ bias, const int rows, const int columns, const int words, const int shift) {
  const int column = blockIdx.x * WIDTH + threadIdx.x, first = (blockIdx.y * 4 + threadIdx.y) * ROWS;
  if (column >= columns)
    return;
  int sums[ROWS];
  for (int r = 0; r < ROWS; ++r)
    sums[r] = bias[column];
#pragma unroll UNROLL
  for (int w = 0; w < words; ++w) {
    const int word = b[static_cast<long long>(column) * words + w];
    for (int r = 0; r < ROWS; ++r)
      if (first + r < rows)
        sums[r] = __dp4a(a[static_cast<long long>(first + r) * words + w], word, sums[r]);
  }
  for (int r = 0; r < ROWS; ++r)
    if (first + r < rows) {
      const int sum = (sums[r] + (1 << (shift - 1))) >> shift;
      out[static_cast<long long>(first + r) * columns + column] = static_cast<int8_t>(max(-128, min(127, sum)));
    }
}
