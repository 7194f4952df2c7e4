// Adds up what the experts gave for each token: rows gathered by index, weighted; an index below zero is an expert that dropped the token.
// A block takes TOKENS tokens at a time and keeps TILE of the indices and weights of each in shared memory, a thread VEC neighbouring columns.
#include <cuda_bf16.h>

template <int VEC>
struct alignas(VEC * 2) Columns {
  __nv_bfloat16 at[VEC];
};

template <int BLOCK, int VEC, int TOKENS, int TILE>
__global__ void moesum_kernel(__nv_bfloat16* __restrict__ out, const __nv_bfloat16* __restrict__ rows, const int* __restrict__ index, const float* __restrict__ weights,
                              const int tokens, const int topk, const int hidden, const float scale) {
  __shared__ int picked[TOKENS * TILE];
  __shared__ float shares[TOKENS * TILE];
  const int column = (blockIdx.x * BLOCK + threadIdx.x) * VEC;
  for (long long start = static_cast<long long>(blockIdx.y) * TOKENS; start < tokens; start += static_cast<long long>(gridDim.y) * TOKENS) {
    float sum[TOKENS][VEC];
#pragma unroll
    for (int t = 0; t < TOKENS; ++t)
#pragma unroll
      for (int v = 0; v < VEC; ++v)
        sum[t][v] = 0.f;
    for (int first = 0; first < topk; first += TILE) {
      const int count = min(TILE, topk - first);
      __syncthreads();
      if (threadIdx.x < TOKENS * TILE) {
        const int t = threadIdx.x / TILE, k = threadIdx.x % TILE;
        if (start + t < tokens && k < count) {
          picked[threadIdx.x] = index[(start + t) * topk + first + k];
          shares[threadIdx.x] = weights[(start + t) * topk + first + k];
        }
      }
      __syncthreads();
      if (column < hidden) {
#pragma unroll
        for (int t = 0; t < TOKENS; ++t) {
          if (start + t < tokens) {
            for (int k = 0; k < count; ++k) {
              const int row = picked[t * TILE + k];
              if (row < 0)
                continue;
              const float share = shares[t * TILE + k];
              const Columns<VEC> part = *reinterpret_cast<const Columns<VEC>*>(rows + static_cast<long long>(row) * hidden + column);
#pragma unroll
              for (int v = 0; v < VEC; ++v)
                sum[t][v] += share * __bfloat162float(part.at[v]);
            }
          }
        }
      }
    }
    if (column < hidden) {
#pragma unroll
      for (int t = 0; t < TOKENS; ++t) {
        if (start + t < tokens) {
          Columns<VEC> result;
#pragma unroll
          for (int v = 0; v < VEC; ++v)
            result.at[v] = __float2bfloat16_rn(sum[t][v] * scale);
          *reinterpret_cast<Columns<VEC>*>(out + (start + t) * hidden + column) = result;
        }
      }
    }
  }
}
