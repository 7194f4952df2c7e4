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

template <typename T, int EXPERTS, int WARPS, int SELECT, int HOLD>
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

  // A row's probabilities are all +0 or more, or all NaN. With SELECT they are compared as integers, which order as these
  // floats and -1 do. A row of NaN gives NaN once, then -1, always for expert 0: only its first element stays.
  if constexpr (SELECT != 0) {
    if (sum != sum) {
#pragma unroll
      for (int i = 0; i < PER_THREAD; ++i)
        if (lane * PER_THREAD + i > 0)
          p[i] = -1.0f;
    }
  }

  float chosen = 0.0f;
  float held_weight = 0.0f;
  int held_expert = 0;
  for (int round = 0; round < k; ++round) {
    float best = p[0];
    int expert = lane * PER_THREAD;
#pragma unroll
    for (int i = 1; i < PER_THREAD; ++i)
      if (p[i] > best) {
        best = p[i];
        expert = lane * PER_THREAD + i;
      }
    if constexpr (SELECT == 0) {
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, best, offset);
        const int other_expert = __shfl_xor_sync(0xffffffffu, expert, offset);
        if (other > best || (other == best && other_expert < expert)) {
          best = other;
          expert = other_expert;
        }
      }
    } else if constexpr (SELECT == 1) {
      const int key = __float_as_int(best);
      int top = key;
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) {
        const int other = __shfl_xor_sync(0xffffffffu, top, offset);
        top = other > top ? other : top;
      }
      // Experts ascend with the lanes: the lowest lane that holds the maximum has the smallest index.
      const unsigned holders = __ballot_sync(0xffffffffu, key == top);
      expert = __shfl_sync(0xffffffffu, expert, __ffs(static_cast<int>(holders)) - 1);
      best = __int_as_float(top);
    } else {
      const int key = __float_as_int(best);
      const int top = __reduce_max_sync(0xffffffffu, key);
      const int candidate = key == top ? expert : EXPERTS;
      expert = __reduce_min_sync(0xffffffffu, candidate);
      best = __int_as_float(top);
    }
    if constexpr (HOLD == 0) {
      if (lane == 0) {
        weights[static_cast<int64_t>(token) * k + round] = best;
        experts[static_cast<int64_t>(token) * k + round] = expert;
        chosen += best;
      }
    } else {
      if (lane == round && round < HOLD) {
        held_weight = best;
        held_expert = expert;
      }
      if (lane == 0 && round >= HOLD) {
        weights[static_cast<int64_t>(token) * k + round] = best;
        experts[static_cast<int64_t>(token) * k + round] = expert;
      }
      chosen += best;
    }
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i)
      if (lane * PER_THREAD + i == expert)
        p[i] = -1.0f;
  }
  if constexpr (HOLD == 0) {
    if (renormalise && lane == 0) {
      const float inverse = 1.0f / chosen;
      for (int round = 0; round < k; ++round)
        weights[static_cast<int64_t>(token) * k + round] *= inverse;
    }
  } else {
    const float inverse = 1.0f / chosen;
    if (lane < k && lane < HOLD) {
      if (renormalise)
        held_weight *= inverse;
      weights[static_cast<int64_t>(token) * k + lane] = held_weight;
      experts[static_cast<int64_t>(token) * k + lane] = held_expert;
    }
    if (renormalise && lane == 0)
      for (int round = HOLD; round < k; ++round)
        weights[static_cast<int64_t>(token) * k + round] *= inverse;
  }
}
