#include <cmath>
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

// A pack of BYTES bytes, moved by accesses of at most 16 bytes.
template <unsigned BYTES> struct alignas(BYTES < 16 ? BYTES : 16) lathe_pack {
  unsigned words[BYTES / 4];
};

template <typename T, const unsigned NUM_THREADS, unsigned pack_size, unsigned ROWS, int LOAD_EARLY, int LOAD_CACHE, int STORE_CACHE, int MIN_BLOCKS, unsigned int FIXED_HEAD_SIZE>
__global__ void __launch_bounds__(MIN_BLOCKS == 0 ? 0 : NUM_THREADS, MIN_BLOCKS) merge_attn_states_kernel(T* output, float* output_lse, const T* prefix_output,
                                         const float* prefix_lse, const T* suffix_output,
                                         const float* suffix_lse, const unsigned num_tokens,
                                         const unsigned num_heads, const unsigned head_size) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  const unsigned threads_per_head = (FIXED_HEAD_SIZE == 0 ? head_size : FIXED_HEAD_SIZE) / pack_size;
  const unsigned index = (blockIdx.x * ROWS + lathe_row) * NUM_THREADS + threadIdx.x;
  if (index >= num_tokens * num_heads * threads_per_head)
    continue;

  const unsigned token_head = index / threads_per_head;
  const unsigned pack = index % threads_per_head;
  const unsigned offset = token_head * (FIXED_HEAD_SIZE == 0 ? head_size : FIXED_HEAD_SIZE) + pack * pack_size;

  float p_lse = lathe_load<LOAD_CACHE>(&prefix_lse[token_head]);
  float s_lse = lathe_load<LOAD_CACHE>(&suffix_lse[token_head]);
  const lathe_pack<pack_size * sizeof(T)> lathe_early = LOAD_EARLY == 1 ? lathe_load<LOAD_CACHE>(reinterpret_cast<const lathe_pack<pack_size * sizeof(T)>*>(prefix_output + offset)) : lathe_pack<pack_size * sizeof(T)>();
  const lathe_pack<pack_size * sizeof(T)> lathe_early_2 = LOAD_EARLY == 1 ? lathe_load<LOAD_CACHE>(reinterpret_cast<const lathe_pack<pack_size * sizeof(T)>*>(suffix_output + offset)) : lathe_pack<pack_size * sizeof(T)>();
  p_lse = isinf(p_lse) ? -INFINITY : p_lse;
  s_lse = isinf(s_lse) ? -INFINITY : s_lse;
  const float max_lse = fmaxf(p_lse, s_lse);
  const float p_weight = expf(p_lse - max_lse);
  const float s_weight = expf(s_lse - max_lse);
  const float total = p_weight + s_weight;
  const float p_scale = p_weight / total;
  const float s_scale = s_weight / total;

  const lathe_pack<pack_size * sizeof(T)> p_pack = (LOAD_EARLY == 1 ? lathe_early : lathe_load<LOAD_CACHE>(reinterpret_cast<const lathe_pack<pack_size * sizeof(T)>*>(prefix_output + offset)));
  const lathe_pack<pack_size * sizeof(T)> s_pack = (LOAD_EARLY == 1 ? lathe_early_2 : lathe_load<LOAD_CACHE>(reinterpret_cast<const lathe_pack<pack_size * sizeof(T)>*>(suffix_output + offset)));
  lathe_pack<pack_size * sizeof(T)> o_pack;
#pragma unroll
  for (unsigned i = 0; i < pack_size; ++i) {
    const float p = static_cast<float>(reinterpret_cast<const T*>(&p_pack)[i]);
    const float s = static_cast<float>(reinterpret_cast<const T*>(&s_pack)[i]);
    reinterpret_cast<T*>(&o_pack)[i] = static_cast<T>(p * p_scale + s * s_scale);
  }
  lathe_store<STORE_CACHE>(o_pack, reinterpret_cast<lathe_pack<pack_size * sizeof(T)>*>(output + offset));

  if (output_lse != nullptr && pack == 0)
    lathe_store<STORE_CACHE>(logf(total) + max_lse, &output_lse[token_head]);
  }
}
