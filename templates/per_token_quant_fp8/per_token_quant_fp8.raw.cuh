#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace kernel_1 {

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

constexpr float FP8_MAX = 448.0f;

// Eight tokens a block of 256 threads: every warp reduces and writes a row by itself.
template <typename T, int TOKENS_PER_BLOCK, int VEC_SIZE>
__global__ void
per_token_quant_fp8_warp_kernel(const T* __restrict__ input, __nv_fp8_e4m3* __restrict__ output,
                                float* __restrict__ scales, const int64_t d, const int64_t num_tokens) {
  const int lane = threadIdx.x % 32;
  const int token = blockIdx.x * TOKENS_PER_BLOCK + threadIdx.x / 32;
  if (token >= num_tokens)
    return;
  const T* token_input = input + token * d;
  __nv_fp8_e4m3* token_output = output + token * d;
  const int32_t packs = d / VEC_SIZE;

  float maximum = 0.0f;
  for (int32_t i = lane; i < packs; i += 32) {
    aligned_vector<T, VEC_SIZE> x;
    x.load(token_input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      maximum = fmaxf(maximum, fabsf(static_cast<float>(x[j])));
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, offset));

  const float scale = maximum / FP8_MAX;
  if (lane == 0)
    scales[token] = scale;
  const float inverse = scale == 0.0f ? 0.0f : 1.0f / scale;

  for (int32_t i = lane; i < packs; i += 32) {
    aligned_vector<T, VEC_SIZE> x;
    aligned_vector<__nv_fp8_e4m3, VEC_SIZE> result;
    x.load(token_input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      result[j] =
          static_cast<__nv_fp8_e4m3>(fmaxf(fminf(static_cast<float>(x[j]) * inverse, FP8_MAX), -FP8_MAX));
    result.store(token_output + i * VEC_SIZE);
  }
}

} // namespace kernel_1

namespace kernel_2 {

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

constexpr float FP8_MAX = 448.0f;

__device__ __forceinline__ float block_max(float value) {
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
    value = lane < blockDim.x / 32 ? warp_maxima[lane] : 0.0f;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

template <typename T, int VEC_SIZE>
__global__ void per_token_quant_fp8_kernel(const T* __restrict__ input, __nv_fp8_e4m3* __restrict__ output,
                                           float* __restrict__ scales, const int64_t d,
                                           const int64_t num_tokens) {
  const int token = blockIdx.x;
  if (token >= num_tokens)
    return;
  const T* token_input = input + token * d;
  __nv_fp8_e4m3* token_output = output + token * d;
  const int32_t packs = d / VEC_SIZE;

  float maximum = 0.0f;
  for (int32_t i = threadIdx.x; i < packs; i += blockDim.x) {
    aligned_vector<T, VEC_SIZE> x;
    x.load(token_input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      maximum = fmaxf(maximum, fabsf(static_cast<float>(x[j])));
  }
  maximum = block_max(maximum);

  __shared__ float shared_scale;
  if (threadIdx.x == 0) {
    shared_scale = maximum / FP8_MAX;
    scales[token] = shared_scale;
  }
  __syncthreads();
  const float inverse = 1.0f / shared_scale;

  for (int32_t i = threadIdx.x; i < packs; i += blockDim.x) {
    aligned_vector<T, VEC_SIZE> x;
    aligned_vector<__nv_fp8_e4m3, VEC_SIZE> result;
    x.load(token_input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      result[j] =
          static_cast<__nv_fp8_e4m3>(fmaxf(fminf(static_cast<float>(x[j]) * inverse, FP8_MAX), -FP8_MAX));
    result.store(token_output + i * VEC_SIZE);
  }
}

} // namespace kernel_2
