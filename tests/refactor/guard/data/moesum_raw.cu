// Adds up what the experts gave for each token: rows gathered by index, weighted; an index below zero is an expert that dropped the token.
#include <cuda_bf16.h>

__global__ void moesum_kernel(__nv_bfloat16* __restrict__ out, const __nv_bfloat16* __restrict__ rows, const int* __restrict__ index, const float* __restrict__ weights,
                              const int tokens, const int topk, const int hidden, const float scale) {
  const int column = blockIdx.x * 128 + threadIdx.x;
  if (column >= hidden)
    return;
  for (int token = blockIdx.y; token < tokens; token += gridDim.y) {
    float sum = 0.f;
    for (int k = 0; k < topk; ++k) {
      const int row = index[static_cast<long long>(token) * topk + k];
      if (row < 0)
        continue;
      sum += weights[static_cast<long long>(token) * topk + k] * __bfloat162float(rows[static_cast<long long>(row) * hidden + column]);
    }
    out[static_cast<long long>(token) * hidden + column] = __float2bfloat16_rn(sum * scale);
  }
}
