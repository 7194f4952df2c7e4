#include <cuda_fp8.h>
// Groups of 32 numbers become codes of eight bits; a group's scale is a power of two, of which the exponent is kept.
__global__ void scale8_kernel(signed char* __restrict__ codes, unsigned char* __restrict__ scales, const float* __restrict__ x, const int groups) {
  const int group = blockIdx.x * 16 + threadIdx.x / 8, lane = threadIdx.x % 8;
  if (group >= groups)
    return;
  const unsigned mask = 0xffu << (threadIdx.x % 32 / 8 * 8);
  const float* in = x + static_cast<long long>(group) * 32;
  float largest = 0.f;
  for (int i = lane; i < 32; i += 8)
    largest = fmaxf(largest, fabsf(in[i]));
  for (int d = 4; d > 0; d /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(mask, largest, d, 8));
  const unsigned bits = __float_as_uint(largest / 127.f);
  int exponent = static_cast<int>(bits >> 23 & 0xff) + ((bits & 0x7fffffu) != 0u);
  exponent = min(max(exponent, 1), 254);
  const float inverse = __uint_as_float(static_cast<unsigned>(254 - exponent) << 23);
  for (int i = lane; i < 32; i += 8)
    codes[static_cast<long long>(group) * 32 + i] = static_cast<signed char>(min(max(__float2int_rn(in[i] * inverse), -127), 127));
  if (lane == 0)
    scales[group] = static_cast<unsigned char>(exponent);
}
