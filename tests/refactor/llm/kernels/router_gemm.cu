// Scores of a router: every token's hidden state against every expert's weights, accumulated in single
// precision.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int TILE = 16; // of tokens, of experts and of the hidden size alike

// One output a thread; both operands pass through shared memory, tile by tile.
template <typename T>
__global__ void router_gemm_kernel(const T* __restrict__ hidden, const T* __restrict__ weights,
                                   float* __restrict__ scores, const int num_tokens, const int num_experts,
                                   const int hidden_size) {
  __shared__ float hidden_tile[TILE][TILE + 1];
  __shared__ float weight_tile[TILE][TILE + 1];
  const int column = threadIdx.x, line = threadIdx.y;
  const int token = blockIdx.y * TILE + line;
  const int expert = blockIdx.x * TILE + column;
  const int first_expert = blockIdx.x * TILE;

  float score = 0.f;
  for (int base = 0; base < hidden_size; base += TILE) {
    const int k = base + column;
    hidden_tile[line][column] = token < num_tokens && k < hidden_size
                                    ? static_cast<float>(hidden[int64_t(token) * hidden_size + k])
                                    : 0.f;
    weight_tile[line][column] =
        first_expert + line < num_experts && k < hidden_size
            ? static_cast<float>(weights[int64_t(first_expert + line) * hidden_size + k])
            : 0.f;
    __syncthreads();
    for (int step = 0; step < TILE; ++step) {
      score += hidden_tile[line][step] * weight_tile[column][step];
    }
    __syncthreads();
  }
  if (token < num_tokens && expert < num_experts) {
    scores[int64_t(token) * num_experts + expert] = score;
  }
}

template <typename T>
void router_gemm(const T* hidden, const T* weights, float* scores, int num_tokens, int num_experts,
                 int hidden_size, cudaStream_t stream) {
  const dim3 grid((num_experts + TILE - 1) / TILE, (num_tokens + TILE - 1) / TILE);
  const dim3 block(TILE, TILE);
  router_gemm_kernel<T>
      <<<grid, block, 0, stream>>>(hidden, weights, scores, num_tokens, num_experts, hidden_size);
}

template void router_gemm<__nv_bfloat16>(const __nv_bfloat16*, const __nv_bfloat16*, float*, int, int, int,
                                         cudaStream_t);
