#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifndef INFINITY
#define INFINITY (__builtin_inff ())
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

constexpr int BITS_PER_WORD = 32;


template <typename T, int BITS_PER_THREAD, int THREADS_PER_BLOCK, unsigned ROWS, int LOAD_CACHE, int MIN_BLOCKS>
__global__ void __launch_bounds__(THREADS_PER_BLOCK, MIN_BLOCKS)
    apply_token_bitmask_kernel(T* __restrict__ logits, const int32_t* __restrict__ bitmask,
                               const int vocab_size, const int logits_stride, const int bitmask_stride) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  constexpr int pack_size = 16 / sizeof(T);
  constexpr uint32_t pack_mask = (1u << pack_size) - 1;
  const int row = blockIdx.y;
  const int block_offset = (blockIdx.x * ROWS + lathe_row) * THREADS_PER_BLOCK * BITS_PER_THREAD;
  T* row_logits = logits + static_cast<int64_t>(row) * logits_stride + block_offset;
  const int32_t* row_bits =
      bitmask + static_cast<int64_t>(row) * bitmask_stride + block_offset / BITS_PER_WORD;
  const int shift = threadIdx.x % (BITS_PER_WORD / pack_size) * pack_size;

#pragma unroll
  for (int offset = threadIdx.x * pack_size; offset < THREADS_PER_BLOCK * BITS_PER_THREAD;
       offset += THREADS_PER_BLOCK * pack_size) {
    if (block_offset + offset >= vocab_size)
      break;
    const uint32_t masked = (~lathe_load<LOAD_CACHE>(&row_bits[offset / BITS_PER_WORD]) >> shift) & pack_mask;
    if (masked == 0)
      continue;
    uint4 pack;
    if (masked != pack_mask)
      pack = *reinterpret_cast<const uint4*>(row_logits + offset);
#pragma unroll
    for (int i = 0; i < pack_size; ++i)
      if (masked >> i & 1)
        reinterpret_cast<T*>(&pack)[i] = static_cast<T>(-INFINITY);
    *reinterpret_cast<uint4*>(row_logits + offset) = pack;
  }
  }
}
