#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

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

template <unsigned BLOCK> __device__ __forceinline__ float block_max(float value) {
  __shared__ float warp_maxima[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  if (lane == 0)
    warp_maxima[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < (BLOCK == 0 ? blockDim.x : BLOCK) / 32 ? warp_maxima[lane] : 0.0f;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

template <typename T, int VEC_SIZE, unsigned BLOCK, unsigned ROWS, int UNROLL, int UNROLL_2, int LOAD_CACHE, int STORE_CACHE, int MIN_BLOCKS>
__global__ void __launch_bounds__(MIN_BLOCKS == 0 ? 0 : (BLOCK == 0 ? 256 : BLOCK), MIN_BLOCKS) per_token_quant_fp8_kernel(const T* __restrict__ input, __nv_fp8_e4m3* __restrict__ output,
                                           float* __restrict__ scales, const int64_t d,
                                           const int64_t num_tokens) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  const int token = (blockIdx.x * ROWS + lathe_row);
  if (token >= num_tokens)
    continue;
  const T* token_input = input + token * d;
  __nv_fp8_e4m3* token_output = output + token * d;
  const int32_t packs = d / VEC_SIZE;

  float maximum = 0.0f;
#pragma unroll UNROLL
  for (int32_t i = threadIdx.x; i < packs; i += (BLOCK == 0 ? blockDim.x : BLOCK)) {
    aligned_vector<T, VEC_SIZE> x;
    x.template load<LOAD_CACHE>(token_input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      maximum = fmaxf(maximum, fabsf(static_cast<float>(x[j])));
  }
  maximum = block_max<BLOCK>(maximum);

  __shared__ float shared_scale;
  if (threadIdx.x == 0) {
    shared_scale = maximum / FP8_MAX;
    lathe_store<STORE_CACHE>(shared_scale, &scales[token]);
  }
  __syncthreads();
  const float inverse = 1.0f / shared_scale;

#pragma unroll UNROLL_2
  for (int32_t i = threadIdx.x; i < packs; i += (BLOCK == 0 ? blockDim.x : BLOCK)) {
    aligned_vector<T, VEC_SIZE> x;
    aligned_vector<__nv_fp8_e4m3, VEC_SIZE> result;
    x.template load<LOAD_CACHE>(token_input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      result[j] =
          static_cast<__nv_fp8_e4m3>(fmaxf(fminf(static_cast<float>(x[j]) * inverse, FP8_MAX), -FP8_MAX));
    result.template store<STORE_CACHE>(token_output + i * VEC_SIZE);
  }
  if constexpr (ROWS > 1)
    __syncthreads();
  }
}
