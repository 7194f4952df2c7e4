// Rows of numbers in five bits, in blocks of 32 with a scale each: the number that is furthest from zero (of several the first), with its sign,
// is level 0, zero is level 16. A byte has the lower four bits of number i and, above them, of number i + 16; a word has all fifth bits. Rows
// of x lie `pitch` apart. A thread has a block.
#include <cuda_fp16.h>

__device__ __forceinline__ int level_of(const float value, const float inverse) {
  return min(31, static_cast<int>(value * inverse + 16.5f));
}

__global__ void quint_kernel(__half* __restrict__ scales, unsigned* __restrict__ high, unsigned char* __restrict__ low, const float* __restrict__ x, const int rows,
                             const int columns, const long long pitch) {
  const int blocks = columns / 32, number = blockIdx.x * 128 + threadIdx.x;
  if (number >= blocks)
    return;
  for (int row = blockIdx.y; row < rows; row += gridDim.y) {
    const float* from = x + row * pitch + static_cast<long long>(number) * 32;
    float most = 0.f, peak = 0.f;
    for (int i = 0; i < 32; ++i) {
      const float value = from[i];
      if (fabsf(value) > most) {
        most = fabsf(value);
        peak = value;
      }
    }
    const float scale = peak / -16.f;
    const float inverse = scale != 0.f ? 1.f / scale : 0.f;
    const long long place = static_cast<long long>(row) * blocks + number;
    unsigned fifths = 0u;
    for (int i = 0; i < 16; ++i) {
      const int first = level_of(from[i], inverse), second = level_of(from[i + 16], inverse);
      low[place * 16 + i] = static_cast<unsigned char>((first & 15) | (second & 15) << 4);
      fifths |= static_cast<unsigned>((first & 16) >> 4) << i;
      fifths |= static_cast<unsigned>((second & 16) >> 4) << (i + 16);
    }
    scales[place] = __float2half_rn(scale);
    high[place] = fifths;
  }
}
