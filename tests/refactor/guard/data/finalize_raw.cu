#include <cuda_bf16.h>
// Puts what experts made of a token together again, each part with its expert's bias and by its weight.
__global__ void finalize_kernel(__nv_bfloat16* __restrict__ out, const __nv_bfloat16* __restrict__ rows,
                                const __nv_bfloat16* __restrict__ bias, const float* __restrict__ weights,
                                const int* __restrict__ map, const int* __restrict__ expert, const int width,
                                const int topk) {
  const long long token = blockIdx.x;
  for (int i = threadIdx.x; i < width; i += 128) {
    float sum = 0.f;
    for (int k = 0; k < topk; ++k) {
      const int row = map[token * topk + k];
      if (row < 0)
        continue;
      const float value = __bfloat162float(rows[static_cast<long long>(row) * width + i]);
      const float added = __bfloat162float(bias[expert[token * topk + k] * width + i]);
      sum += weights[token * topk + k] * (value + added);
    }
    out[token * width + i] = __float2bfloat16(sum);
  }
}
