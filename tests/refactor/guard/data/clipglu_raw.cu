// Gated activation of experts' rows, as bytes with a scale a row: the gate, no larger than a limit, times its logistic function
// (sharper by alpha), times what is gated, within the limit on either side and, where that is wanted, plus one. Gates and what is
// gated lie by turns (interleaved) or in two halves of a row. An expert has room for so many rows, of which the first counts[e]
// are there; all others get zeros. A row of threads (a warp) has a row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

__device__ __forceinline__ float activated(const float gate, const float up, const float alpha, const float limit, const bool shifted) {
  const float g = fminf(gate, limit);
  const float u = fmaxf(fminf(up, limit), -limit);
  return g / (1.f + expf(-alpha * g)) * (shifted ? u + 1.f : u);
}

template <typename T>
__global__ void clipglu_kernel(signed char* __restrict__ out, float* __restrict__ scales, const T* __restrict__ in, const int* __restrict__ counts, const int room,
                               const int width, const float alpha, const float limit, const bool interleaved, const bool shifted) {
  const int row = blockIdx.x * 8 + threadIdx.y, expert = blockIdx.y;
  if (row >= room)
    return;
  const long long index = static_cast<long long>(expert) * room + row;
  const T* from = in + index * 2 * width;
  signed char* to = out + index * width;
  if (row >= counts[expert]) {
    for (int c = threadIdx.x; c < width; c += 32)
      to[c] = 0;
    if (threadIdx.x == 0)
      scales[index] = 0.f;
    return;
  }
  float peak = 0.f;
  for (int c = threadIdx.x; c < width; c += 32) {
    const float gate = static_cast<float>(from[interleaved ? 2 * c : c]), up = static_cast<float>(from[interleaved ? 2 * c + 1 : width + c]);
    peak = fmaxf(peak, fabsf(activated(gate, up, alpha, limit, shifted)));
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    peak = fmaxf(peak, __shfl_xor_sync(0xffffffffu, peak, offset));
  const float inverse = peak > 0.f ? 127.f / peak : 0.f;
  for (int c = threadIdx.x; c < width; c += 32) {
    const float gate = static_cast<float>(from[interleaved ? 2 * c : c]), up = static_cast<float>(from[interleaved ? 2 * c + 1 : width + c]);
    const int level = __float2int_rn(activated(gate, up, alpha, limit, shifted) * inverse);
    to[c] = static_cast<signed char>(max(-127, min(127, level)));
  }
  if (threadIdx.x == 0)
    scales[index] = peak / 127.f;
}
