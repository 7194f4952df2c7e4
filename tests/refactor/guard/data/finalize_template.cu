#include <cuda_bf16.h>
template <int N> struct alignas(2 * N) Pack { __nv_bfloat16 at[N]; };
// Puts what experts made of a token together again, each part with its expert's bias and by its weight.
template <int BLOCK, int VEC>
__global__ void finalize_kernel(__nv_bfloat16* __restrict__ out, const __nv_bfloat16* __restrict__ rows,
                                const __nv_bfloat16* __restrict__ bias, const float* __restrict__ weights,
                                const int* __restrict__ map, const int* __restrict__ expert, const int width,
                                const int topk) {
  const long long token = blockIdx.x;
  for (int i = threadIdx.x * VEC; i < width; i += BLOCK * VEC) {
    float sum[VEC] = {};
    for (int k = 0; k < topk; ++k) {
      const int row = map[token * topk + k];
      if (row < 0)
        continue;
      const auto values = *reinterpret_cast<const Pack<VEC>*>(rows + static_cast<long long>(row) * width + i);
      const auto added = *reinterpret_cast<const Pack<VEC>*>(bias + expert[token * topk + k] * width + i);
      const float weight = weights[token * topk + k];
#pragma unroll
      for (int j = 0; j < VEC; ++j)
        sum[j] += weight * (__bfloat162float(values.at[j]) + __bfloat162float(added.at[j]));
    }
    Pack<VEC> result;
#pragma unroll
    for (int j = 0; j < VEC; ++j)
      result.at[j] = __float2bfloat16(sum[j]);
    *reinterpret_cast<Pack<VEC>*>(out + token * width + i) = result;
  }
}
