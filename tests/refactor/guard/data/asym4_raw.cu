// Rows of numbers in four bits, a scale and a zero for every group of neighbouring columns: the range of a group, which
// zero always belongs to, in fifteen steps. Two columns a byte, the first in its lower half; behind an odd row's end there
// is a zero. Rows of x lie `pitch` apart. A warp has a group.
#include <cuda_fp16.h>

__device__ __forceinline__ int quantised(const float value, const float scale, const float zero) {
  return static_cast<int>(fminf(fmaxf(rintf(value / scale) + zero, 0.f), 15.f));
}

template <typename T>
__global__ void asym4_kernel(unsigned char* __restrict__ packed, float* __restrict__ scales, unsigned char* __restrict__ zeros, const T* __restrict__ x, const int rows,
                             const int columns, const int group, const long long pitch) {
  const int lane = threadIdx.x % 32;
  const int groups = (columns - 1) / group + 1;
  const long long number = static_cast<long long>(blockIdx.x) * 4 + threadIdx.x / 32;
  if (number >= static_cast<long long>(rows) * groups)
    return;
  const long long row = number / groups;
  const int begin = static_cast<int>(number % groups) * group;
  const int count = min(group, columns - begin);
  const T* from = x + row * pitch + begin;
  float low = 0.f, high = 0.f;
  for (int c = lane; c < count; c += 32) {
    const float value = static_cast<float>(from[c]);
    low = fminf(low, value);
    high = fmaxf(high, value);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
    high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
  }
  const float scale = fmaxf((high - low) / 15.f, 1e-8f);
  const float zero = fminf(fmaxf(rintf(-low / scale), 0.f), 15.f);
  if (lane == 0) {
    scales[number] = scale;
    zeros[number] = static_cast<unsigned char>(zero);
  }
  unsigned char* to = packed + row * (columns / 2 + columns % 2) + begin / 2;
  for (int c = 2 * lane; c < count; c += 64) {
    int both = quantised(static_cast<float>(from[c]), scale, zero);
    if (c + 1 < count)
      both |= quantised(static_cast<float>(from[c + 1]), scale, zero) << 4;
    to[c / 2] = static_cast<unsigned char>(both);
  }
}
