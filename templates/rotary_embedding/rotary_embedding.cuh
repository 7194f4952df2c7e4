#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

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

template <typename T>
__device__ __forceinline__ void rotate_pair(T* head, const T* cosines, const T* sines, int pair, int half) {
  const float c = static_cast<float>(cosines[pair]);
  const float s = static_cast<float>(sines[pair]);
  const float x = static_cast<float>(head[pair]);
  const float y = static_cast<float>(head[pair + half]);
  head[pair] = static_cast<T>(x * c - y * s);
  head[pair + half] = static_cast<T>(y * c + x * s);
}

template <typename T, unsigned BLOCK, unsigned SPLIT, unsigned ROWS, int UNROLL, int UNROLL_2, int LOAD_CACHE, int MIN_BLOCKS>
__global__ void __launch_bounds__(MIN_BLOCKS == 0 ? 0 : (BLOCK == 0 ? 1024 : BLOCK), MIN_BLOCKS) rotary_embedding_kernel(const int64_t* __restrict__ positions, T* __restrict__ query,
                                        T* __restrict__ key, const T* __restrict__ cos_sin_cache,
                                        const int rot_dim, const int64_t query_stride,
                                        const int64_t key_stride, const int num_heads, const int num_kv_heads,
                                        const int head_size) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  const int token = (blockIdx.x * ROWS + lathe_row);
  const T* cosines = cos_sin_cache + lathe_load<LOAD_CACHE>(&positions[token]) * rot_dim;
  const int half = rot_dim / 2;
  const T* sines = cosines + half;

#pragma unroll UNROLL
  for (int i = (SPLIT == 1 ? threadIdx.x : threadIdx.x + blockIdx.y * (BLOCK == 0 ? blockDim.x : BLOCK)); i < num_heads * half; i += ((BLOCK == 0 ? blockDim.x : BLOCK) * SPLIT)) {
    const int64_t head = token * query_stride + i / half * head_size;
    rotate_pair(query + head, cosines, sines, i % half, half);
  }
#pragma unroll UNROLL_2
  for (int i = (SPLIT == 1 ? threadIdx.x : threadIdx.x + blockIdx.y * (BLOCK == 0 ? blockDim.x : BLOCK)); i < num_kv_heads * half; i += ((BLOCK == 0 ? blockDim.x : BLOCK) * SPLIT)) {
    const int64_t head = token * key_stride + i / half * head_size;
    rotate_pair(key + head, cosines, sines, i % half, half);
  }
  }
}
