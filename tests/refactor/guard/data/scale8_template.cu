#include <cuda_fp8.h>
// Groups of 32 numbers become codes of eight bits; a group's scale is a power of two, of which the exponent is kept.
template <int BLOCK, int LANES, int ROUNDS>
__global__ void scale8_kernel(signed char* __restrict__ codes, unsigned char* __restrict__ scales, const float* __restrict__ x, const int groups) {
  constexpr int GROUPS = BLOCK / LANES;
  const int lane = threadIdx.x % LANES;
  const unsigned mask = (LANES == 32 ? 0xffffffffu : (1u << LANES % 32) - 1u) << (threadIdx.x % 32 / LANES * LANES);
  for (int r = 0; r < ROUNDS; ++r) {
    const int group = (blockIdx.x * ROUNDS + r) * GROUPS + threadIdx.x / LANES;
    if (group >= groups)
      return;
    const float* in = x + static_cast<long long>(group) * 32;
    float held[32 / LANES];
    float largest = 0.f;
    for (int i = 0; i < 32 / LANES; ++i) {
      held[i] = in[i * LANES + lane];
      largest = fmaxf(largest, fabsf(held[i]));
    }
    for (int d = LANES / 2; d > 0; d /= 2)
      largest = fmaxf(largest, __shfl_xor_sync(mask, largest, d, LANES));
    const unsigned bits = __float_as_uint(largest / 127.f);
    int exponent = static_cast<int>(bits >> 23 & 0xff) + ((bits & 0x7fffffu) != 0u);
    exponent = min(max(exponent, 1), 254);
    const float inverse = __uint_as_float(static_cast<unsigned>(254 - exponent) << 23);
    for (int i = 0; i < 32 / LANES; ++i)
      codes[static_cast<long long>(group) * 32 + i * LANES + lane] = static_cast<signed char>(min(max(__float2int_rn(held[i] * inverse), -127), 127));
    if (lane == 0)
      scales[group] = static_cast<unsigned char>(exponent);
  }
}
