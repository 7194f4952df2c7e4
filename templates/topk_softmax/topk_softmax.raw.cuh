#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifndef INFINITY
#define INFINITY (__builtin_inff ())
#endif

template <unsigned BYTES> struct chunk_of;

template <> struct chunk_of<2> {
  using type = unsigned short;
};

template <> struct chunk_of<4> {
  using type = unsigned;
};

template <> struct chunk_of<8> {
  using type = uint2;
};

template <> struct chunk_of<16> {
  using type = uint4;
};

// N elements of T in registers. `load` and `store` need a pointer aligned to min(16, N * sizeof(T)) bytes.
template <typename T, unsigned N> struct aligned_vector {
  static constexpr unsigned BYTES = N * sizeof(T);
  static constexpr unsigned CHUNK_BYTES = BYTES < 16 ? BYTES : 16;
  static constexpr unsigned CHUNKS = BYTES / CHUNK_BYTES;
  using chunk = typename chunk_of<CHUNK_BYTES>::type;

  chunk bits[CHUNKS];

  __device__ __forceinline__ void load(const T* source) {
#pragma unroll
    for (unsigned i = 0; i < CHUNKS; ++i)
      bits[i] = reinterpret_cast<const chunk*>(source)[i];
  }
  __device__ __forceinline__ void store(T* target) const {
#pragma unroll
    for (unsigned i = 0; i < CHUNKS; ++i)
      reinterpret_cast<chunk*>(target)[i] = bits[i];
  }
  __device__ __forceinline__ T& operator[](unsigned i) { return reinterpret_cast<T*>(bits)[i]; }
  __device__ __forceinline__ const T& operator[](unsigned i) const {
    return reinterpret_cast<const T*>(bits)[i];
  }
};

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
  if (renormalise && lane == 0) {
    const float inverse = 1.0f / chosen;
    for (int round = 0; round < k; ++round)
      weights[static_cast<int64_t>(token) * k + round] *= inverse;
  }
}
