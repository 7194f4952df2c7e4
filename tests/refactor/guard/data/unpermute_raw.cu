// Brings what experts made of tokens back to the tokens' rows: of each token the rows that its slots name, by weight, added up in the
// order of its choices. Slots below zero, or that an expert's capacity had no room for, were dropped. Where that is wanted the weights
// that are left are made to add up to one; a token of whose weights nothing is left has zeros, and what passed the experts by is added.
#include <cuda_fp16.h>

__global__ void unpermute_kernel(__half* __restrict__ out, int* __restrict__ kept, const __half* __restrict__ rows, const __half* __restrict__ residual,
                                 const int* __restrict__ slots, const float* __restrict__ weights, const int tokens, const int topk, const int hidden,
                                 const int capacity, const long long row_stride, const bool normalise) {
  const long long token = blockIdx.x;
  if (token >= tokens)
    return;
  const int* chosen = slots + token * topk;
  const float* shares = weights + token * topk;
  float total = 0.f;
  int count = 0;
  for (int k = 0; k < topk; ++k) {
    const int slot = chosen[k];
    if (slot >= 0 && slot < capacity) {
      total += shares[k];
      ++count;
    }
  }
  for (int i = threadIdx.x; i < hidden; i += 256) {
    float sum = 0.f;
    for (int k = 0; k < topk; ++k) {
      const int slot = chosen[k];
      if (slot < 0 || slot >= capacity)
        continue;
      sum += shares[k] * __half2float(rows[slot * row_stride + i]);
    }
    float value = sum;
    if (normalise)
      value = total > 0.f ? sum / total : 0.f;
    if (residual != nullptr)
      value += __half2float(residual[token * hidden + i]);
    out[token * hidden + i] = __float2half_rn(value);
  }
  if (threadIdx.x == 0)
    kept[token] = count;
}
