#include <cstdint>
#include <cuda_bf16.h>

constexpr int NUM_HEADS = 128;

constexpr int NOPE_DIM = 128;

constexpr int ROPE_DIM = 64;

constexpr int K_DIM = NOPE_DIM + ROPE_DIM;

constexpr int HEAD_CHUNK = 16;

__global__ void concat_mla_k_kernel(__nv_bfloat16* __restrict__ k, const __nv_bfloat16* __restrict__ k_nope,
                                    const __nv_bfloat16* __restrict__ k_rope, const int num_tokens) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  const int token = warp / (NUM_HEADS / HEAD_CHUNK);
  const int first_head = warp % (NUM_HEADS / HEAD_CHUNK) * HEAD_CHUNK;
  if (token >= num_tokens)
    return;
  const int64_t head = static_cast<int64_t>(token) * NUM_HEADS + first_head;
  const int2* nope = reinterpret_cast<const int2*>(k_nope + head * NOPE_DIM) + lane;
  int2* nope_target = reinterpret_cast<int2*>(k + head * K_DIM) + lane;
  int* rope_target = reinterpret_cast<int*>(k + head * K_DIM + NOPE_DIM) + lane;
  const int rope = reinterpret_cast<const int*>(k_rope + static_cast<int64_t>(token) * ROPE_DIM)[lane];

  int2 current = *nope;
#pragma unroll
  for (int i = 0; i < HEAD_CHUNK; ++i) {
    int2 next = current;
    if (i + 1 < HEAD_CHUNK) {
      nope += NOPE_DIM / 4;
      next = *nope;
    }
    *nope_target = current;
    *rope_target = rope;
    nope_target += K_DIM / 4;
    rope_target += K_DIM / 2;
    current = next;
  }
}
