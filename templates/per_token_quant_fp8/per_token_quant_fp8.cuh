#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace kernel_1 {

// The unsigned type that moves ALIGNMENT bytes at once.
template <unsigned ALIGNMENT> struct lathe_carrier {
  using type = uint4;
};
template <> struct lathe_carrier<1> {
  using type = unsigned char;
};
template <> struct lathe_carrier<2> {
  using type = unsigned short;
};
template <> struct lathe_carrier<4> {
  using type = unsigned;
};
template <> struct lathe_carrier<8> {
  using type = uint2;
};
// Cache policy of a load: 0 plain, 1 streaming (evicted first), 2 read-only data path.
template <int CACHE, class V> __device__ __forceinline__ V lathe_load(const V* address) {
  if constexpr (CACHE == 0) {
    return *address;
  } else {
    using carrier = typename lathe_carrier<alignof(V)>::type;
    V value;
#pragma unroll
    for (unsigned i = 0; i < sizeof(V) / sizeof(carrier); ++i) {
      const carrier* part = reinterpret_cast<const carrier*>(address) + i;
      reinterpret_cast<carrier*>(&value)[i] = CACHE == 1 ? __ldcs(part) : __ldg(part);
    }
    return value;
  }
}
// Cache policy of a store: 0 plain, 1 streaming (evicted first).
template <int CACHE, class V, class W> __device__ __forceinline__ void lathe_store(const W& value, V* address) {
  if constexpr (CACHE == 0) {
    *address = value;
  } else {
    using carrier = typename lathe_carrier<alignof(V)>::type;
    V converted;
    converted = value;
#pragma unroll
    for (unsigned i = 0; i < sizeof(V) / sizeof(carrier); ++i)
      __stcs(reinterpret_cast<carrier*>(address) + i, reinterpret_cast<const carrier*>(&converted)[i]);
  }
}

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

  template <int CACHE = 0> __device__ __forceinline__ void load(const T* source) {
#pragma unroll
    for (unsigned i = 0; i < CHUNKS; ++i)
      bits[i] = lathe_load<CACHE>(&reinterpret_cast<const chunk*>(source)[i]);
  }
  template <int CACHE = 0> __device__ __forceinline__ void store(T* target) const {
#pragma unroll
    for (unsigned i = 0; i < CHUNKS; ++i)
      lathe_store<CACHE>(bits[i], &reinterpret_cast<chunk*>(target)[i]);
  }
  __device__ __forceinline__ T& operator[](unsigned i) { return reinterpret_cast<T*>(bits)[i]; }
  __device__ __forceinline__ const T& operator[](unsigned i) const {
    return reinterpret_cast<const T*>(bits)[i];
  }
};

constexpr float FP8_MAX = 448.0f;

// Eight tokens a block of 256 threads: every warp reduces and writes a row by itself.
template <typename T, int TOKENS_PER_BLOCK, int K1_VEC_SIZE, unsigned K1_KEEP, int K1_UNROLL, int K1_UNROLL_2, int K1_LOAD_CACHE, int K1_STORE_CACHE, int K1_MIN_BLOCKS, int64_t K1_FIXED_D>
__device__ __forceinline__ void
 per_token_quant_fp8_warp_kernel(const T* __restrict__ input, __nv_fp8_e4m3* __restrict__ output,
                                float* __restrict__ scales, const int64_t d, const int64_t num_tokens) {
  const int lane = threadIdx.x % 32;
  const int token = blockIdx.x * TOKENS_PER_BLOCK + threadIdx.x / 32;
  if (token >= num_tokens)
    return;
  const T* token_input = input + token * (K1_FIXED_D == 0 ? d : K1_FIXED_D);
  __nv_fp8_e4m3* token_output = output + token * (K1_FIXED_D == 0 ? d : K1_FIXED_D);
  const int32_t packs = (K1_FIXED_D == 0 ? d : K1_FIXED_D) / K1_VEC_SIZE;

  float maximum = 0.0f;
  aligned_vector<T, K1_VEC_SIZE> lathe_kept[K1_KEEP == 0 ? 1 : K1_KEEP];
#pragma unroll (K1_KEEP == 0 ? K1_UNROLL : K1_KEEP)
  for (int32_t i = lane, lathe_round = 0; K1_KEEP == 0 ? i < packs : lathe_round < K1_KEEP; i += 32, ++lathe_round) {
    if constexpr (K1_KEEP > 0) {
      if (!(i < packs))
        continue;
    }
    aligned_vector<T, K1_VEC_SIZE> x;
    x.template load<K1_LOAD_CACHE>(token_input + i * K1_VEC_SIZE);
    if constexpr (K1_KEEP > 0)
      lathe_kept[lathe_round] = x;
#pragma unroll
    for (int j = 0; j < K1_VEC_SIZE; ++j)
      maximum = fmaxf(maximum, fabsf(static_cast<float>(x[j])));
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, offset));

  const float scale = maximum / FP8_MAX;
  if (lane == 0)
    lathe_store<K1_STORE_CACHE>(scale, &scales[token]);
  const float inverse = scale == 0.0f ? 0.0f : 1.0f / scale;

#pragma unroll (K1_KEEP == 0 ? K1_UNROLL_2 : K1_KEEP)
  for (int32_t i = lane, lathe_round = 0; K1_KEEP == 0 ? i < packs : lathe_round < K1_KEEP; i += 32, ++lathe_round) {
    if constexpr (K1_KEEP > 0) {
      if (!(i < packs))
        continue;
    }
    aligned_vector<T, K1_VEC_SIZE> x;
    aligned_vector<__nv_fp8_e4m3, K1_VEC_SIZE> result;
    if constexpr (K1_KEEP == 0)
      x.template load<K1_LOAD_CACHE>(token_input + i * K1_VEC_SIZE);
    else
      x = lathe_kept[lathe_round];
#pragma unroll
    for (int j = 0; j < K1_VEC_SIZE; ++j)
      result[j] =
          static_cast<__nv_fp8_e4m3>(fmaxf(fminf(static_cast<float>(x[j]) * inverse, FP8_MAX), -FP8_MAX));
    result.template store<K1_STORE_CACHE>(token_output + i * K1_VEC_SIZE);
  }
}

// The launch bounds of per_token_quant_fp8_warp_kernel.
template <typename T, int TOKENS_PER_BLOCK, int K1_VEC_SIZE, unsigned K1_KEEP, int K1_UNROLL, int K1_UNROLL_2, int K1_LOAD_CACHE, int K1_STORE_CACHE, int K1_MIN_BLOCKS, int64_t K1_FIXED_D> struct lathe_launch_bounds {
  static constexpr int threads = K1_MIN_BLOCKS == 0 ? 0 : 256;
  static constexpr int blocks =  K1_MIN_BLOCKS;
};

} // namespace kernel_1

namespace kernel_2 {

// The unsigned type that moves ALIGNMENT bytes at once.
template <unsigned ALIGNMENT> struct lathe_carrier {
  using type = uint4;
};
template <> struct lathe_carrier<1> {
  using type = unsigned char;
};
template <> struct lathe_carrier<2> {
  using type = unsigned short;
};
template <> struct lathe_carrier<4> {
  using type = unsigned;
};
template <> struct lathe_carrier<8> {
  using type = uint2;
};
// Cache policy of a load: 0 plain, 1 streaming (evicted first), 2 read-only data path.
template <int CACHE, class V> __device__ __forceinline__ V lathe_load(const V* address) {
  if constexpr (CACHE == 0) {
    return *address;
  } else {
    using carrier = typename lathe_carrier<alignof(V)>::type;
    V value;
#pragma unroll
    for (unsigned i = 0; i < sizeof(V) / sizeof(carrier); ++i) {
      const carrier* part = reinterpret_cast<const carrier*>(address) + i;
      reinterpret_cast<carrier*>(&value)[i] = CACHE == 1 ? __ldcs(part) : __ldg(part);
    }
    return value;
  }
}
// Cache policy of a store: 0 plain, 1 streaming (evicted first).
template <int CACHE, class V, class W> __device__ __forceinline__ void lathe_store(const W& value, V* address) {
  if constexpr (CACHE == 0) {
    *address = value;
  } else {
    using carrier = typename lathe_carrier<alignof(V)>::type;
    V converted;
    converted = value;
#pragma unroll
    for (unsigned i = 0; i < sizeof(V) / sizeof(carrier); ++i)
      __stcs(reinterpret_cast<carrier*>(address) + i, reinterpret_cast<const carrier*>(&converted)[i]);
  }
}

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

  template <int CACHE = 0> __device__ __forceinline__ void load(const T* source) {
#pragma unroll
    for (unsigned i = 0; i < CHUNKS; ++i)
      bits[i] = lathe_load<CACHE>(&reinterpret_cast<const chunk*>(source)[i]);
  }
  template <int CACHE = 0> __device__ __forceinline__ void store(T* target) const {
#pragma unroll
    for (unsigned i = 0; i < CHUNKS; ++i)
      lathe_store<CACHE>(bits[i], &reinterpret_cast<chunk*>(target)[i]);
  }
  __device__ __forceinline__ T& operator[](unsigned i) { return reinterpret_cast<T*>(bits)[i]; }
  __device__ __forceinline__ const T& operator[](unsigned i) const {
    return reinterpret_cast<const T*>(bits)[i];
  }
};

constexpr float FP8_MAX = 448.0f;

template <int K2_EVERY_WARP, unsigned K2_BLOCK> __device__ __forceinline__ float block_max(float value) {
  __shared__ float warp_maxima[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  if (lane == 0)
    warp_maxima[warp] = value;
  __syncthreads();
  if (K2_EVERY_WARP == 1 || (warp == 0)) {
    value = lane < (K2_BLOCK == 0 ? blockDim.x : K2_BLOCK) / 32 ? warp_maxima[lane] : 0.0f;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

template <typename T, int K2_VEC_SIZE, unsigned K2_BLOCK, unsigned K2_KEEP, unsigned K2_ROWS, int K2_UNROLL, int K2_UNROLL_2, int K2_LOAD_CACHE, int K2_STORE_CACHE, int K2_MIN_BLOCKS, int K2_EVERY_WARP, int64_t K2_FIXED_D>
__device__ __forceinline__ void  per_token_quant_fp8_kernel(const T* __restrict__ input, __nv_fp8_e4m3* __restrict__ output,
                                           float* __restrict__ scales, const int64_t d,
                                           const int64_t num_tokens) {
  for (unsigned lathe_row = 0; lathe_row < K2_ROWS; ++lathe_row) {
  const int token = (blockIdx.x * K2_ROWS + lathe_row);
  if (token >= num_tokens)
    continue;
  const T* token_input = input + token * (K2_FIXED_D == 0 ? d : K2_FIXED_D);
  __nv_fp8_e4m3* token_output = output + token * (K2_FIXED_D == 0 ? d : K2_FIXED_D);
  const int32_t packs = (K2_FIXED_D == 0 ? d : K2_FIXED_D) / K2_VEC_SIZE;

  float maximum = 0.0f;
  aligned_vector<T, K2_VEC_SIZE> lathe_kept[K2_KEEP == 0 ? 1 : K2_KEEP];
#pragma unroll (K2_KEEP == 0 ? K2_UNROLL : K2_KEEP)
  for (int32_t i = threadIdx.x, lathe_round = 0; K2_KEEP == 0 ? i < packs : lathe_round < K2_KEEP; i += (K2_BLOCK == 0 ? blockDim.x : K2_BLOCK), ++lathe_round) {
    if constexpr (K2_KEEP > 0) {
      if (!(i < packs))
        continue;
    }
    aligned_vector<T, K2_VEC_SIZE> x;
    x.template load<K2_LOAD_CACHE>(token_input + i * K2_VEC_SIZE);
    if constexpr (K2_KEEP > 0)
      lathe_kept[lathe_round] = x;
#pragma unroll
    for (int j = 0; j < K2_VEC_SIZE; ++j)
      maximum = fmaxf(maximum, fabsf(static_cast<float>(x[j])));
  }
  maximum = block_max<K2_EVERY_WARP, K2_BLOCK>(maximum);

  __shared__ float shared_scale;
  float lathe_total = float(0);
  if constexpr (K2_EVERY_WARP == 1)
    lathe_total = maximum / FP8_MAX;
  if (threadIdx.x == 0) {
    (K2_EVERY_WARP == 1 ? lathe_total : shared_scale) = maximum / FP8_MAX;
    lathe_store<K2_STORE_CACHE>((K2_EVERY_WARP == 1 ? lathe_total : shared_scale), &scales[token]);
  }
  if constexpr (K2_EVERY_WARP == 0)
    __syncthreads();
  const float inverse = 1.0f / (K2_EVERY_WARP == 1 ? lathe_total : shared_scale);

#pragma unroll (K2_KEEP == 0 ? K2_UNROLL_2 : K2_KEEP)
  for (int32_t i = threadIdx.x, lathe_round = 0; K2_KEEP == 0 ? i < packs : lathe_round < K2_KEEP; i += (K2_BLOCK == 0 ? blockDim.x : K2_BLOCK), ++lathe_round) {
    if constexpr (K2_KEEP > 0) {
      if (!(i < packs))
        continue;
    }
    aligned_vector<T, K2_VEC_SIZE> x;
    aligned_vector<__nv_fp8_e4m3, K2_VEC_SIZE> result;
    if constexpr (K2_KEEP == 0)
      x.template load<K2_LOAD_CACHE>(token_input + i * K2_VEC_SIZE);
    else
      x = lathe_kept[lathe_round];
#pragma unroll
    for (int j = 0; j < K2_VEC_SIZE; ++j)
      result[j] =
          static_cast<__nv_fp8_e4m3>(fmaxf(fminf(static_cast<float>(x[j]) * inverse, FP8_MAX), -FP8_MAX));
    result.template store<K2_STORE_CACHE>(token_output + i * K2_VEC_SIZE);
  }
  if constexpr (K2_ROWS > 1)
    __syncthreads();
  }
}

// The launch bounds of per_token_quant_fp8_kernel.
template <typename T, int K2_VEC_SIZE, unsigned K2_BLOCK, unsigned K2_KEEP, unsigned K2_ROWS, int K2_UNROLL, int K2_UNROLL_2, int K2_LOAD_CACHE, int K2_STORE_CACHE, int K2_MIN_BLOCKS, int K2_EVERY_WARP, int64_t K2_FIXED_D> struct lathe_launch_bounds {
  static constexpr int threads = K2_MIN_BLOCKS == 0 ? 0 : (K2_BLOCK == 0 ? 256 : K2_BLOCK);
  static constexpr int blocks =  K2_MIN_BLOCKS;
};

} // namespace kernel_2

// KERNEL: 1 the first kernel, 2 the second.
template <typename T, int KERNEL, int K1_VEC_SIZE, unsigned K1_KEEP, int K1_UNROLL, int K1_UNROLL_2, int K1_LOAD_CACHE, int K1_STORE_CACHE, int K1_MIN_BLOCKS, int64_t K1_FIXED_D, int K2_VEC_SIZE, unsigned K2_BLOCK, unsigned K2_KEEP, unsigned K2_ROWS, int K2_UNROLL, int K2_UNROLL_2, int K2_LOAD_CACHE, int K2_STORE_CACHE, int K2_MIN_BLOCKS, int K2_EVERY_WARP, int64_t K2_FIXED_D>
__global__ void __launch_bounds__((KERNEL == 1 ? kernel_1::lathe_launch_bounds<T, 8, K1_VEC_SIZE, K1_KEEP, K1_UNROLL, K1_UNROLL_2, K1_LOAD_CACHE, K1_STORE_CACHE, K1_MIN_BLOCKS, K1_FIXED_D>::threads : kernel_2::lathe_launch_bounds<T, K2_VEC_SIZE, K2_BLOCK, K2_KEEP, K2_ROWS, K2_UNROLL, K2_UNROLL_2, K2_LOAD_CACHE, K2_STORE_CACHE, K2_MIN_BLOCKS, K2_EVERY_WARP, K2_FIXED_D>::threads), (KERNEL == 1 ? kernel_1::lathe_launch_bounds<T, 8, K1_VEC_SIZE, K1_KEEP, K1_UNROLL, K1_UNROLL_2, K1_LOAD_CACHE, K1_STORE_CACHE, K1_MIN_BLOCKS, K1_FIXED_D>::blocks : kernel_2::lathe_launch_bounds<T, K2_VEC_SIZE, K2_BLOCK, K2_KEEP, K2_ROWS, K2_UNROLL, K2_UNROLL_2, K2_LOAD_CACHE, K2_STORE_CACHE, K2_MIN_BLOCKS, K2_EVERY_WARP, K2_FIXED_D>::blocks)) per_token_quant_fp8_choice(const T *__restrict input, __nv_fp8_e4m3 *__restrict output, float *__restrict scales, const int64_t d, const int64_t num_tokens) {
  if constexpr (KERNEL == 1)
    kernel_1::per_token_quant_fp8_warp_kernel<T, 8, K1_VEC_SIZE, K1_KEEP, K1_UNROLL, K1_UNROLL_2, K1_LOAD_CACHE, K1_STORE_CACHE, K1_MIN_BLOCKS, K1_FIXED_D>(input, output, scales, d, num_tokens);
  else
    kernel_2::per_token_quant_fp8_kernel<T, K2_VEC_SIZE, K2_BLOCK, K2_KEEP, K2_ROWS, K2_UNROLL, K2_UNROLL_2, K2_LOAD_CACHE, K2_STORE_CACHE, K2_MIN_BLOCKS, K2_EVERY_WARP, K2_FIXED_D>(input, output, scales, d, num_tokens);
}
