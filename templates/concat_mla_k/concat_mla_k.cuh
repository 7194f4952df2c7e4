#include <cstdint>
#include <cuda_bf16.h>

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

constexpr int NUM_HEADS = 128;

constexpr int NOPE_DIM = 128;

constexpr int ROPE_DIM = 64;

constexpr int K_DIM = NOPE_DIM + ROPE_DIM;

constexpr int HEAD_CHUNK = 16;

template <unsigned BLOCK, unsigned ROWS, int LOAD_CACHE, int STORE_CACHE, int MIN_BLOCKS>
__global__ void __launch_bounds__(MIN_BLOCKS == 0 ? 0 : (BLOCK == 0 ? 1024 : BLOCK), MIN_BLOCKS) concat_mla_k_kernel(__nv_bfloat16* __restrict__ k, const __nv_bfloat16* __restrict__ k_nope,
                                    const __nv_bfloat16* __restrict__ k_rope, const int num_tokens) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  const int warp = ((blockIdx.x * ROWS + lathe_row) * (BLOCK == 0 ? blockDim.x : BLOCK) + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  const int token = warp / (NUM_HEADS / HEAD_CHUNK);
  const int first_head = warp % (NUM_HEADS / HEAD_CHUNK) * HEAD_CHUNK;
  if (token >= num_tokens)
    continue;
  const int64_t head = static_cast<int64_t>(token) * NUM_HEADS + first_head;
  const int2* nope = reinterpret_cast<const int2*>(k_nope + head * NOPE_DIM) + lane;
  int2* nope_target = reinterpret_cast<int2*>(k + head * K_DIM) + lane;
  int* rope_target = reinterpret_cast<int*>(k + head * K_DIM + NOPE_DIM) + lane;
  const int rope = lathe_load<LOAD_CACHE>(&reinterpret_cast<const int*>(k_rope + static_cast<int64_t>(token) * ROPE_DIM)[lane]);

  int2 current = lathe_load<LOAD_CACHE>(nope);
#pragma unroll
  for (int i = 0; i < HEAD_CHUNK; ++i) {
    int2 next = current;
    if (i + 1 < HEAD_CHUNK) {
      nope += NOPE_DIM / 4;
      next = *nope;
    }
    *nope_target = current;
    lathe_store<STORE_CACHE>(rope, rope_target);
    nope_target += K_DIM / 4;
    rope_target += K_DIM / 2;
    current = next;
  }
  }
}
