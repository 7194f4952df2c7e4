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

template <typename Index, unsigned BLOCK, unsigned ROWS, int UNROLL, int LOAD_CACHE, int STORE_CACHE, int MIN_BLOCKS, size_t FIXED_PIECES>
__global__ void __launch_bounds__(MIN_BLOCKS == 0 ? 0 : (BLOCK == 0 ? 256 : BLOCK), MIN_BLOCKS) store_kv_cache_kernel(uint64_t* __restrict__ k_cache, uint64_t* __restrict__ v_cache,
                                      const Index* __restrict__ loc, const size_t length,
                                      const uint64_t* __restrict__ k, const uint64_t* __restrict__ v,
                                      const size_t cache_stride, const size_t input_stride,
                                      const size_t pieces) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  const size_t thread = (blockIdx.x * ROWS + lathe_row) * (BLOCK == 0 ? blockDim.x : BLOCK) + threadIdx.x;
  const size_t row = thread / 32;
  const size_t lane = thread % 32;
  if (row >= length)
    continue;
  const size_t slot = static_cast<size_t>(lathe_load<LOAD_CACHE>(&loc[row]));
  const uint64_t* k_source = k + row * input_stride;
  const uint64_t* v_source = v + row * input_stride;
  uint64_t* k_target = k_cache + slot * cache_stride;
  uint64_t* v_target = v_cache + slot * cache_stride;
#pragma unroll UNROLL
  for (size_t i = 0; i < (FIXED_PIECES == 0 ? pieces : FIXED_PIECES); ++i) {
    lathe_store<STORE_CACHE>(lathe_load<LOAD_CACHE>(&k_source[lane + i * 32]), &k_target[lane + i * 32]);
    lathe_store<STORE_CACHE>(lathe_load<LOAD_CACHE>(&v_source[lane + i * 32]), &v_target[lane + i * 32]);
  }
  }
}
