#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifndef __CUDA_ARCH__

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

__device__ __forceinline__ float gelu(const float& x) {
  constexpr float inverse_root_of_two = 0.70710678118654752440f;
  return x * (0.5f * (1.0f + erff(x * inverse_root_of_two)));
}

template <typename T, float (*Activation)(const float&)>
__global__ void act_and_mul_kernel(T* __restrict__ out, const T* __restrict__ input, const int d) {
  constexpr uint32_t vec_size = 16 / sizeof(T);
  const int64_t token = blockIdx.x;
  const int64_t thread = threadIdx.x;
  const int64_t stride = blockDim.x;
  const int64_t offset = token * 2 * d;

  // Programmatic dependent launch; both instructions do nothing unless the launch asks for it.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)
  asm volatile("griddepcontrol.wait;");
#endif

#pragma unroll 1
  for (uint32_t i = thread; i < d / vec_size; i += stride) {
    aligned_vector<T, vec_size> gate, up, result;
    gate.load(input + offset + i * vec_size);
    up.load(input + offset + d + i * vec_size);
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j)
      result[j] = static_cast<T>(Activation(static_cast<float>(gate[j])) * static_cast<float>(up[j]));
    result.store(out + token * d + i * vec_size);
  }

  // The columns that whole rounds of the block do not cover.
  const int64_t done = d - d % (stride * vec_size);
#pragma unroll 1
  for (int64_t i = thread; i < d % (stride * vec_size); i += stride) {
    const float x = static_cast<float>(input[offset + done + i]);
    const float y = static_cast<float>(input[offset + done + d + i]);
    out[token * d + done + i] = static_cast<T>(Activation(x) * y);
  }

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
