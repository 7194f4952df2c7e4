// The raw kernel as it was when the conversation beside this file was held.
// The gate of a mixture of experts: softmax over a token's logits, then its k largest probabilities and their
// experts, the lower index first among equals, optionally scaled to sum 1.
//
// One warp a token of 256 experts, 4 warps a block, 16-byte loads, 8 logits a thread in registers, butterfly
// reductions, as production launches it.
#include "../../../../sglang_kernels/aligned_vector.cuh"

#include <cstdint>

template <typename T, int EXPERTS, int WARPS>
__global__ void __launch_bounds__(WARPS * 32)
    topk_softmax_kernel(const T* __restrict__ logits, float* __restrict__ weights, int* __restrict__ experts,
                        const int num_tokens, const int k, const bool renormalise) {
  constexpr int PER_THREAD = EXPERTS / 32;
  const int token = blockIdx.x * WARPS + threadIdx.y;
  const int lane = threadIdx.x;
  if (token >= num_tokens)
    return;

  aligned_vector<T, PER_THREAD> loaded;
  loaded.load(logits + static_cast<int64_t>(token) * EXPERTS + lane * PER_THREAD);
  float p[PER_THREAD];
  float maximum = -INFINITY;
#pragma unroll
  for (int i = 0; i < PER_THREAD; ++i) {
    p[i] = static_cast<float>(loaded[i]);
    maximum = fmaxf(maximum, p[i]);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, offset));
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < PER_THREAD; ++i) {
    p[i] = expf(p[i] - maximum);
    sum += p[i];
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  const float scale = 1.0f / sum;
#pragma unroll
  for (int i = 0; i < PER_THREAD; ++i)
    p[i] *= scale;

  float chosen = 0.0f;
  for (int round = 0; round < k; ++round) {
    float best = p[0];
    int expert = lane * PER_THREAD;
#pragma unroll
    for (int i = 1; i < PER_THREAD; ++i)
      if (p[i] > best) {
        best = p[i];
        expert = lane * PER_THREAD + i;
      }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, best, offset);
      const int other_expert = __shfl_xor_sync(0xffffffffu, expert, offset);
      if (other > best || (other == best && other_expert < expert)) {
        best = other;
        expert = other_expert;
      }
    }
    if (lane == 0) {
      weights[static_cast<int64_t>(token) * k + round] = best;
      experts[static_cast<int64_t>(token) * k + round] = expert;
      chosen += best;
    }
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i)
      if (lane * PER_THREAD + i == expert)
        p[i] = -1.0f;
  }
  if (renormalise && lane == 0)
    for (int round = 0; round < k; ++round)
      weights[static_cast<int64_t>(token) * k + round] /= chosen;
}

template <typename T>
void topk_softmax(const T* logits, float* weights, int* experts, int num_tokens, int k, cudaStream_t stream) {
  constexpr int WARPS = 4;
  const dim3 block(32, WARPS);
  const dim3 grid((num_tokens + WARPS - 1) / WARPS);
  topk_softmax_kernel<T, 256, WARPS>
      <<<grid, block, 0, stream>>>(logits, weights, experts, num_tokens, k, true);
}

template void topk_softmax<__nv_bfloat16>(const __nv_bfloat16*, float*, int*, int, int, cudaStream_t);
template void topk_softmax<__half>(const __half*, float*, int*, int, int, cudaStream_t);
template void topk_softmax<float>(const float*, float*, int*, int, int, cudaStream_t);
