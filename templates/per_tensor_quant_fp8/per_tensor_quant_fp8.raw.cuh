#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

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

template <typename T>
__global__ void per_tensor_quant_fp8_kernel(const T* __restrict__ input, __nv_fp8_e4m3* __restrict__ output,
                                            const float* __restrict__ scale, const int64_t num_elements) {
  constexpr int VEC_SIZE = 16;
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int num_threads = blockDim.x * gridDim.x;
  const float inverse = 1.0f / *scale;
  const int32_t packs = num_elements / VEC_SIZE;

  for (int32_t i = thread; i < packs; i += num_threads) {
    aligned_vector<T, VEC_SIZE> x;
    aligned_vector<__nv_fp8_e4m3, VEC_SIZE> result;
    x.load(input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      result[j] =
          static_cast<__nv_fp8_e4m3>(fmaxf(fminf(static_cast<float>(x[j]) * inverse, FP8_MAX), -FP8_MAX));
    result.store(output + i * VEC_SIZE);
  }
  for (int32_t i = packs * VEC_SIZE + thread; i < num_elements; i += num_threads) {
    const float value = fmaxf(fminf(static_cast<float>(input[i]) * inverse, FP8_MAX), -FP8_MAX);
    output[i] = static_cast<__nv_fp8_e4m3>(value);
  }
}
