#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifndef __CUDA_ARCH__

#endif

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

__device__ __forceinline__ float silu(const float& x) {
  return x / (1.0f + expf(-x));
}

template <typename T, float (*Activation)(const float&), uint32_t vec_size, unsigned BLOCK, unsigned SPLIT, unsigned ROWS, int UNROLL, int UNROLL_2, int LOAD_CACHE, int STORE_CACHE, int MIN_BLOCKS, int FIXED_D>
__global__ void __launch_bounds__(MIN_BLOCKS == 0 ? 0 : (BLOCK == 0 ? 1024 : BLOCK), MIN_BLOCKS) act_and_mul_kernel(T* __restrict__ out, const T* __restrict__ input, const int d) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  const int64_t token = (blockIdx.x * ROWS + lathe_row);
  const int64_t thread = (SPLIT == 1 ? threadIdx.x : threadIdx.x + blockIdx.y * (BLOCK == 0 ? blockDim.x : BLOCK));
  const int64_t stride = ((BLOCK == 0 ? blockDim.x : BLOCK) * SPLIT);
  const int64_t offset = token * 2 * (FIXED_D == 0 ? d : FIXED_D);

  // Programmatic dependent launch; both instructions do nothing unless the launch asks for it.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)
  asm volatile("griddepcontrol.wait;");
#endif

#pragma unroll UNROLL
  for (uint32_t i = thread; i < (FIXED_D == 0 ? d : FIXED_D) / vec_size; i += stride) {
    aligned_vector<T, vec_size> gate, up, result;
    aligned_vector<float, vec_size> x, y;
    gate.template load<LOAD_CACHE>(input + offset + i * vec_size);
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j)
      x[j] = static_cast<float>(gate[j]);
    up.template load<LOAD_CACHE>(input + offset + (FIXED_D == 0 ? d : FIXED_D) + i * vec_size);
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j)
      y[j] = static_cast<float>(up[j]);
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j)
      x[j] = Activation(x[j]) * y[j];
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j)
      result[j] = static_cast<T>(x[j]);
    result.template store<STORE_CACHE>(out + token * (FIXED_D == 0 ? d : FIXED_D) + i * vec_size);
  }

  // The columns that whole rounds of the block do not cover.
  const int64_t done = (FIXED_D == 0 ? d : FIXED_D) - (FIXED_D == 0 ? d : FIXED_D) % (stride * vec_size);
#pragma unroll UNROLL_2
  for (int64_t i = thread; i < (FIXED_D == 0 ? d : FIXED_D) % (stride * vec_size); i += stride) {
    const float x = static_cast<float>(lathe_load<LOAD_CACHE>(&input[offset + done + i]));
    const float y = static_cast<float>(lathe_load<LOAD_CACHE>(&input[offset + done + (FIXED_D == 0 ? d : FIXED_D) + i]));
    lathe_store<STORE_CACHE>(static_cast<T>(Activation(x) * y), &out[token * (FIXED_D == 0 ? d : FIXED_D) + done + i]);
  }

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  }
}
