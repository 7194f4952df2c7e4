// Brings what experts made of tokens back to the tokens' rows. A block takes TOKENS tokens at once, a row of BLOCK threads each, and a
// thread VEC neighbouring columns. The first warp of a row lists TILE choices at a time, without those that were dropped, and UNROLL
// rows of the list are read before the first is added. Blocks go round where there are more columns than a grid is wide.
#include <cuda_fp16.h>

template <int VEC>
struct alignas(2 * VEC) Halves {
  __half at[VEC];
};

template <int BLOCK, int VEC, int TOKENS, int TILE, int UNROLL>
__global__ void unpermute_kernel(__half* __restrict__ out, int* __restrict__ kept, const __half* __restrict__ rows, const __half* __restrict__ residual,
                                 const int* __restrict__ slots, const float* __restrict__ weights, const int tokens, const int topk, const int hidden,
                                 const int capacity, const long long row_stride, const bool normalise) {
  __shared__ int places[TOKENS][TILE];
  __shared__ float shares[TOKENS][TILE];
  __shared__ int counts[TOKENS];
  const int own = threadIdx.y, lane = threadIdx.x;
  const long long token = static_cast<long long>(blockIdx.x) * TOKENS + own;
  const bool is_token = token < tokens;
  for (int strip = blockIdx.y; static_cast<long long>(strip) * (BLOCK * VEC) < hidden; strip += gridDim.y) {
    const int column = (strip * BLOCK + lane) * VEC;
    const bool is_column = is_token && column < hidden;
    float sum[VEC], total = 0.f;
    int count = 0;
#pragma unroll
    for (int v = 0; v < VEC; ++v)
      sum[v] = 0.f;
    for (int first = 0; first < topk; first += TILE) {
      __syncthreads();
      if (lane < 32) {
        int slot = -1;
        float weight = 0.f;
        if (is_token && lane < TILE && first + lane < topk) {
          slot = slots[token * topk + first + lane];
          weight = weights[token * topk + first + lane];
        }
        const bool stays = slot >= 0 && slot < capacity;
        const unsigned mask = __ballot_sync(0xffffffffu, stays);
        if (stays) {
          const int place = __popc(mask & ((1u << lane) - 1u));
          places[own][place] = slot;
          shares[own][place] = weight;
        }
        if (lane == 0)
          counts[own] = __popc(mask);
      }
      __syncthreads();
      const int here = counts[own];
      for (int k = 0; k < here; k += UNROLL) {
        Halves<VEC> part[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
          if (is_column && k + u < here)
            part[u] = *reinterpret_cast<const Halves<VEC>*>(rows + places[own][k + u] * row_stride + column);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
          if (k + u < here) {
            const float share = shares[own][k + u];
            total += share;
            if (is_column) {
#pragma unroll
              for (int v = 0; v < VEC; ++v)
                sum[v] += share * __half2float(part[u].at[v]);
            }
          }
        }
      }
      count += here;
    }
    if (is_column) {
      Halves<VEC> extra, result;
      if (residual != nullptr)
        extra = *reinterpret_cast<const Halves<VEC>*>(residual + token * hidden + column);
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
        float value = sum[v];
        if (normalise)
          value = total > 0.f ? sum[v] / total : 0.f;
        if (residual != nullptr)
          value += __half2float(extra.at[v]);
        result.at[v] = __float2half_rn(value);
      }
      *reinterpret_cast<Halves<VEC>*>(out + token * hidden + column) = result;
    }
    if (is_token && strip == 0 && lane == 0)
      kept[token] = count;
  }
}
