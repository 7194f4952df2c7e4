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

// COUNT elements that are moved together.
template <class T, int COUNT> struct alignas(sizeof(T) * COUNT < 16 ? sizeof(T) * COUNT : 16) lathe_elements {
  T element[COUNT];
};
// Whether COUNT elements from here on can be moved together.
template <int COUNT, class T> __device__ __forceinline__ bool lathe_aligned(const T* first) {
  return reinterpret_cast<unsigned long long>(first) % alignof(lathe_elements<T, COUNT>) == 0;
}

// COUNT elements of shared memory, loaded and stored together where the caller knows that they are aligned.
template <int COUNT, class T>
__device__ __forceinline__ lathe_elements<T, COUNT> lathe_gather(const T* first, bool together) {
  if (together)
    return *reinterpret_cast<const lathe_elements<T, COUNT>*>(first);
  lathe_elements<T, COUNT> all;
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    all.element[i] = first[i];
  return all;
}
template <int COUNT, class T>
__device__ __forceinline__ void lathe_scatter(const lathe_elements<T, COUNT>& all, T* first, bool together) {
  if (together) {
    *reinterpret_cast<lathe_elements<T, COUNT>*>(first) = all;
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
      first[i] = all.element[i];
  }
}

template <typename T, int PAD, int COLLAPSE, int COLLAPSE_VEC, int VEC, int VEC_2, int VEC_3, int BLOCK_STRIDE, unsigned BLOCK, unsigned ROWS, int UNROLL, int UNROLL_2, int LOAD_EARLY, int LOAD_CACHE, int STORE_CACHE, int MIN_BLOCKS, int FIXED_V_DIM, int FIXED_NUM_HEADS>
__global__ void __launch_bounds__(MIN_BLOCKS == 0 ? 0 : (BLOCK == 0 ? 128 : BLOCK), MIN_BLOCKS) lightning_attention_decode_kernel(const T* __restrict__ q, const T* __restrict__ k,
                                                  const T* __restrict__ v, const float* __restrict__ past_kv,
                                                  const float* __restrict__ slope, T* __restrict__ output,
                                                  float* __restrict__ new_kv, const int num_heads,
                                                  const int qk_dim, const int v_dim) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  extern __shared__ char memory[];
  T* q_shared = reinterpret_cast<T*>(memory);
  T* k_shared = q_shared + qk_dim;
  T* v_shared = k_shared + qk_dim;
  T* output_shared = v_shared + (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM);
  float* state = reinterpret_cast<float*>(output_shared + (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM)); // [qk_dim, v_dim + 1]

  const int head = (blockIdx.x * ROWS + lathe_row) % (FIXED_NUM_HEADS == 0 ? num_heads : FIXED_NUM_HEADS);
  const int64_t qk_begin = static_cast<int64_t>((blockIdx.x * ROWS + lathe_row)) * qk_dim;
  const int64_t v_begin = static_cast<int64_t>((blockIdx.x * ROWS + lathe_row)) * (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM);
  const int64_t state_begin = qk_begin * (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM);

  const float lathe_early = LOAD_EARLY == 1 ? lathe_load<LOAD_CACHE>(&slope[head]) : float();
  const int lathe_done = VEC == 1 ? 0 : lathe_aligned<VEC>(&q[qk_begin + 0]) && lathe_aligned<VEC>(&k[qk_begin + 0]) ? (qk_dim) / VEC * VEC : 0;
  if constexpr (VEC > 1) {
    for (int lathe_first = (threadIdx.x) * VEC; lathe_first < lathe_done; lathe_first += (BLOCK == 0 ? blockDim.x : BLOCK) * VEC) {
      const lathe_elements<T, VEC> lathe_q = lathe_load<LOAD_CACHE>(reinterpret_cast<const lathe_elements<T, VEC>*>(&q[qk_begin + lathe_first]));
      const lathe_elements<T, VEC> lathe_k = lathe_load<LOAD_CACHE>(reinterpret_cast<const lathe_elements<T, VEC>*>(&k[qk_begin + lathe_first]));
#pragma unroll
      for (int lathe_lane = 0; lathe_lane < VEC; ++lathe_lane) {
        const int d = lathe_first + lathe_lane;
        {
    q_shared[d] = lathe_q.element[lathe_lane];
    k_shared[d] = lathe_k.element[lathe_lane];
  }
      }
    }
  }
#pragma unroll UNROLL
  for (int d = lathe_done + threadIdx.x; d < qk_dim; d += (BLOCK == 0 ? blockDim.x : BLOCK)) {
    q_shared[d] = lathe_load<LOAD_CACHE>(&q[qk_begin + d]);
    k_shared[d] = lathe_load<LOAD_CACHE>(&k[qk_begin + d]);
  }
  const int lathe_done_2 = VEC_2 == 1 ? 0 : lathe_aligned<VEC_2>(&v[v_begin + 0]) ? ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM)) / VEC_2 * VEC_2 : 0;
  if constexpr (VEC_2 > 1) {
    for (int lathe_first_2 = (threadIdx.x) * VEC_2; lathe_first_2 < lathe_done_2; lathe_first_2 += (BLOCK == 0 ? blockDim.x : BLOCK) * VEC_2) {
      const lathe_elements<T, VEC_2> lathe_v_2 = lathe_load<LOAD_CACHE>(reinterpret_cast<const lathe_elements<T, VEC_2>*>(&v[v_begin + lathe_first_2]));
#pragma unroll
      for (int lathe_lane_2 = 0; lathe_lane_2 < VEC_2; ++lathe_lane_2) {
        const int e = lathe_first_2 + lathe_lane_2;
        v_shared[e] = lathe_v_2.element[lathe_lane_2];
      }
    }
  }
#pragma unroll UNROLL_2
  for (int e = lathe_done_2 + threadIdx.x; e < (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM); e += (BLOCK == 0 ? blockDim.x : BLOCK))
    v_shared[e] = lathe_load<LOAD_CACHE>(&v[v_begin + e]);
  __syncthreads();

  const float decay = expf(-(LOAD_EARLY == 1 ? lathe_early : lathe_load<LOAD_CACHE>(&slope[head])));
  if constexpr (COLLAPSE != 0) {
    const unsigned lathe_rounds = qk_dim > 0 && (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) > 0 ? static_cast<unsigned>(qk_dim) * static_cast<unsigned>((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM)) : 0;
    unsigned lathe_done_of_rows = 0;
    if constexpr (COLLAPSE_VEC > 1) {
      bool lathe_whole = (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) % COLLAPSE_VEC == 0;
      bool lathe_together_of_rows = true;
      for (int d = 0; d < 2 && d < qk_dim; ++d) {
        lathe_whole = lathe_whole && lathe_aligned<COLLAPSE_VEC>(&past_kv[state_begin + d * (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + 0]);
        lathe_together_of_rows = lathe_together_of_rows && lathe_aligned<COLLAPSE_VEC>(&state[d * ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + PAD) + 0]);
      }
      lathe_done_of_rows = lathe_whole ? lathe_rounds : 0;
#pragma unroll (COLLAPSE == 0 ? 1 : COLLAPSE)
      for (unsigned lathe_round = (threadIdx.x) * COLLAPSE_VEC; lathe_round < lathe_done_of_rows; lathe_round += (BLOCK == 0 ? blockDim.x : BLOCK) * COLLAPSE_VEC) {
        const int d = lathe_round / (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM);
        const float key = static_cast<float>(k_shared[d]);
        const int lathe_first_of_rows = lathe_round % (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM);
        const lathe_elements<float, COLLAPSE_VEC> lathe_past_kv_of_rows = lathe_load<LOAD_CACHE>(reinterpret_cast<const lathe_elements<float, COLLAPSE_VEC>*>(&past_kv[state_begin + d * (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + lathe_first_of_rows]));
        lathe_elements<float, COLLAPSE_VEC> lathe_state_of_rows;
#pragma unroll
        for (int lathe_lane_of_rows = 0; lathe_lane_of_rows < COLLAPSE_VEC; ++lathe_lane_of_rows) {
          const int e = lathe_first_of_rows + lathe_lane_of_rows;
          {
      const T product = static_cast<T>(key * static_cast<float>(v_shared[e]));
      lathe_state_of_rows.element[lathe_lane_of_rows] = decay * lathe_past_kv_of_rows.element[lathe_lane_of_rows] + static_cast<float>(product);
    }
        }
        lathe_scatter(lathe_state_of_rows, &state[d * ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + PAD) + lathe_first_of_rows], lathe_together_of_rows);
      }
    }
#pragma unroll (COLLAPSE == 0 ? 1 : COLLAPSE)
    for (unsigned lathe_round = lathe_done_of_rows + threadIdx.x; lathe_round < lathe_rounds; lathe_round += (BLOCK == 0 ? blockDim.x : BLOCK)) {
      const int d = lathe_round / (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM);
      const float key = static_cast<float>(k_shared[d]);
      const int e = lathe_round % (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM);
      {
      const T product = static_cast<T>(key * static_cast<float>(v_shared[e]));
      state[d * ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + PAD) + e] = decay * lathe_load<LOAD_CACHE>(&past_kv[state_begin + d * (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + e]) + static_cast<float>(product);
    }
    }
  } else {
  for (int d = threadIdx.x; d < qk_dim; d += (BLOCK == 0 ? blockDim.x : BLOCK)) {
    const float key = static_cast<float>(k_shared[d]);
    for (int e = 0; e < (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM); ++e) {
      const T product = static_cast<T>(key * static_cast<float>(v_shared[e]));
      state[d * ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + PAD) + e] = decay * lathe_load<LOAD_CACHE>(&past_kv[state_begin + d * (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + e]) + static_cast<float>(product);
    }
  }
  }
  __syncthreads();

  const int lathe_done_3 = VEC_3 == 1 ? 0 : lathe_aligned<VEC_3>(&new_kv[state_begin + 0]) ? (qk_dim * (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM)) / VEC_3 * VEC_3 : 0;
  if constexpr (VEC_3 > 1) {
    const bool lathe_together_3 = ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM)) > 0 && ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM)) % VEC_3 == 0 && lathe_aligned<VEC_3>(&state[(int)(0 / (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM)) * ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + PAD) + (int)(0 % (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM))]) && lathe_aligned<VEC_3>(&state[(int)(((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM)) / (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM)) * ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + PAD) + (int)(((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM)) % (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM))]);
    for (int lathe_first_3 = (threadIdx.x) * VEC_3; lathe_first_3 < lathe_done_3; lathe_first_3 += (BLOCK == 0 ? blockDim.x : BLOCK) * VEC_3) {
      lathe_elements<float, VEC_3> lathe_new_kv_3;
      const lathe_elements<float, VEC_3> lathe_state_3 = lathe_together_3 ? *reinterpret_cast<const lathe_elements<float, VEC_3>*>(&state[(int)(lathe_first_3 / (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM)) * ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + PAD) + (int)(lathe_first_3 % (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM))]) : lathe_elements<float, VEC_3>();
#pragma unroll
      for (int lathe_lane_3 = 0; lathe_lane_3 < VEC_3; ++lathe_lane_3) {
        const int i = lathe_first_3 + lathe_lane_3;
        {
    const int d = i / (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM), e = i % (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM);
    lathe_new_kv_3.element[lathe_lane_3] = (lathe_together_3 ? lathe_state_3.element[lathe_lane_3] : state[d * ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + PAD) + e]);
  }
      }
      lathe_store<STORE_CACHE>(lathe_new_kv_3, reinterpret_cast<lathe_elements<float, VEC_3>*>(&new_kv[state_begin + lathe_first_3]));
    }
  }
  for (int i = lathe_done_3 + threadIdx.x; i < qk_dim * (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM); i += (BLOCK == 0 ? blockDim.x : BLOCK)) {
    const int d = i / (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM), e = i % (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM);
    lathe_store<STORE_CACHE>(state[d * ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + PAD) + e], &new_kv[state_begin + i]);
  }
  __syncthreads();

  for (int e = threadIdx.x; e < (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM); e += (BLOCK == 0 ? blockDim.x : BLOCK)) {
    float sum = 0.f;
    for (int d = 0; d < qk_dim; ++d)
      sum += static_cast<float>(q_shared[d]) * state[d * ((FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM) + PAD) + e];
    output_shared[e] = static_cast<T>(sum);
  }
  __syncthreads();

  if constexpr (BLOCK_STRIDE != 0) {
    for (int e = threadIdx.x; e < (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM); e += (BLOCK == 0 ? blockDim.x : BLOCK))
      lathe_store<STORE_CACHE>(output_shared[e], &output[v_begin + e]);
  } else {
  if (threadIdx.x == 0)
    for (int e = 0; e < (FIXED_V_DIM == 0 ? v_dim : FIXED_V_DIM); ++e)
      lathe_store<STORE_CACHE>(output_shared[e], &output[v_begin + e]);
  }
  if constexpr (ROWS > 1)
    __syncthreads();
  }
}
