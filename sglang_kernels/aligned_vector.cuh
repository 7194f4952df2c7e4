// Vector loads and stores of N elements, 16 bytes an access where the width allows.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

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
