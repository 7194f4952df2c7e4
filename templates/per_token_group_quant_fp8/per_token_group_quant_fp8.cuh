#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

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

// COUNT values in registers, aligned as far as their number allows, to 16 bytes at most.
template <class V, unsigned COUNT>
struct alignas(COUNT * sizeof(V) % 16 == 0 ? 16 : COUNT * sizeof(V) & -(COUNT * sizeof(V))) lathe_packed {
  V element[COUNT];
};
// To consecutive places: in wide stores where the address allows it.
template <class V, unsigned COUNT>
__device__ __forceinline__ void lathe_store_packed(const lathe_packed<V, COUNT>& values, V* target) {
  if (reinterpret_cast<unsigned long long>(target) % alignof(lathe_packed<V, COUNT>) == 0) {
    *reinterpret_cast<lathe_packed<V, COUNT>*>(target) = values;
  } else {
#pragma unroll
    for (unsigned i = 0; i < COUNT; ++i)
      target[i] = values.element[i];
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

constexpr int THREADS_PER_GROUP = 16;

// Over the half of the warp that the thread is in.
__device__ __forceinline__ float group_max(float value) {
  const unsigned mask = threadIdx.x % 32 >= 16 ? 0xffff0000u : 0x0000ffffu;
#pragma unroll
  for (int offset = THREADS_PER_GROUP / 2; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(mask, value, offset));
  return value;
}

template <typename T, uint32_t vec_size, unsigned KEEP, unsigned ROWS, int UNROLL, int UNROLL_2, int PACK_STORES, int LOAD_CACHE, int STORE_CACHE, int MIN_BLOCKS, int FIXED_GROUP_SIZE>
__global__ void
__launch_bounds__(MIN_BLOCKS == 0 ? 0 : 1024, MIN_BLOCKS) per_token_group_quant_fp8_kernel(const T* __restrict__ input, __nv_fp8_e4m3* __restrict__ output,
                                 float* __restrict__ scales, const int group_size, const int groups_per_block,
                                 const float eps, const float min_8bit, const float max_8bit) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  const int64_t local_group = threadIdx.x / THREADS_PER_GROUP;
  const int lane = threadIdx.x % THREADS_PER_GROUP;
  const int64_t block_group = (blockIdx.x * ROWS + lathe_row) * groups_per_block;
  const int64_t group = block_group + local_group;
  const T* group_input = input + group * (FIXED_GROUP_SIZE == 0 ? group_size : FIXED_GROUP_SIZE);
  __nv_fp8_e4m3* group_output = output + group * (FIXED_GROUP_SIZE == 0 ? group_size : FIXED_GROUP_SIZE);
  const int32_t packs = (FIXED_GROUP_SIZE == 0 ? group_size : FIXED_GROUP_SIZE) / vec_size;

  float maximum = eps;
  aligned_vector<T, vec_size> lathe_kept[KEEP == 0 ? 1 : KEEP];
#pragma unroll (KEEP == 0 ? UNROLL : KEEP)
  for (int32_t i = lane, lathe_round = 0; KEEP == 0 ? i < packs : lathe_round < KEEP; i += THREADS_PER_GROUP, ++lathe_round) {
    if constexpr (KEEP > 0) {
      if (!(i < packs))
        continue;
    }
    aligned_vector<T, vec_size> x;
    x.template load<LOAD_CACHE>(group_input + i * vec_size);
    if constexpr (KEEP > 0)
      lathe_kept[lathe_round] = x;
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j)
      maximum = fmaxf(maximum, fabsf(static_cast<float>(x[j])));
  }
  maximum = group_max(maximum);

  const float scale = maximum / max_8bit;
  if (lane == 0)
    lathe_store<STORE_CACHE>(scale, &scales[group]);

#pragma unroll (KEEP == 0 ? UNROLL_2 : KEEP)
  for (int32_t i = lane, lathe_round = 0; KEEP == 0 ? i < packs : lathe_round < KEEP; i += THREADS_PER_GROUP, ++lathe_round) {
    if constexpr (KEEP > 0) {
      if (!(i < packs))
        continue;
    }
    aligned_vector<T, vec_size> x;
    if constexpr (KEEP == 0)
      x.template load<LOAD_CACHE>(group_input + i * vec_size);
    else
      x = lathe_kept[lathe_round];
    lathe_packed<__nv_fp8_e4m3, PACK_STORES == 0 ? 1 : vec_size> lathe_values;
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j) {
      const float quotient = fminf(fmaxf(static_cast<float>(x[j]) / scale, min_8bit), max_8bit);
      (PACK_STORES == 0 ? group_output[i * vec_size + j] : lathe_values.element[j]) = static_cast<__nv_fp8_e4m3>(quotient);
    }
    if constexpr (PACK_STORES == 1)
      lathe_store_packed(lathe_values, &group_output[i * vec_size + 0]);
  }
  if constexpr (ROWS > 1)
    __syncthreads();
  }
}
