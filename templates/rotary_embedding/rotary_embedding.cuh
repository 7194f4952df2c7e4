#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__device__ __forceinline__ void rotate_pair(T* head, const T* cosines, const T* sines, int pair, int half) {
  const float c = static_cast<float>(cosines[pair]);
  const float s = static_cast<float>(sines[pair]);
  const float x = static_cast<float>(head[pair]);
  const float y = static_cast<float>(head[pair + half]);
  head[pair] = static_cast<T>(x * c - y * s);
  head[pair + half] = static_cast<T>(y * c + x * s);
}

template <typename T, int N>
struct __align__(sizeof(T) * N) Pack {
  T v[N];
};

template <int BYTES>
struct Word;
template <>
struct Word<4> {
  using type = unsigned int;
};
template <>
struct Word<8> {
  using type = uint2;
};
template <>
struct Word<16> {
  using type = uint4;
};

template <typename T, int N>
union Bits {
  Pack<T, N> pack;
  typename Word<static_cast<int>(sizeof(T)) * N>::type word;
  __device__ __forceinline__ Bits() {}
};

template <typename T, int N, int STREAM>
__device__ __forceinline__ Pack<T, N> load_pack(const T* at) {
  if constexpr (STREAM == 1 || STREAM == 2) {
    using W = typename Word<static_cast<int>(sizeof(T)) * N>::type;
    Bits<T, N> bits;
    if constexpr (STREAM == 1) {
      bits.word = __ldcs(reinterpret_cast<const W*>(at));
    } else {
      bits.word = __ldcg(reinterpret_cast<const W*>(at));
    }
    return bits.pack;
  } else {
    return *reinterpret_cast<const Pack<T, N>*>(at);
  }
}

template <typename T, int N, int STREAM>
__device__ __forceinline__ void store_pack(T* at, const Pack<T, N>& value) {
  if constexpr (STREAM > 0) {
    using W = typename Word<static_cast<int>(sizeof(T)) * N>::type;
    Bits<T, N> bits;
    bits.pack = value;
    if constexpr (STREAM == 2) {
      __stcg(reinterpret_cast<W*>(at), bits.word);
    } else {
      __stcs(reinterpret_cast<W*>(at), bits.word);
    }
  } else {
    *reinterpret_cast<Pack<T, N>*>(at) = value;
  }
}

template <typename T, int SPAN, int VEC, int ROWS, int HEADS, int STREAM>
__global__ void __launch_bounds__(1024)
rotary_embedding_kernel(const int64_t* __restrict__ positions, T* __restrict__ query,
                                        T* __restrict__ key, const T* __restrict__ cos_sin_cache,
                                        const int rot_dim, const int64_t query_stride,
                                        const int64_t key_stride, const int num_heads, const int num_kv_heads,
                                        const int head_size) {
  const int token = blockIdx.x;
  // Asked for here, used behind the data loads.
  const int64_t position = positions[token];
  const T* cosines = cos_sin_cache + position * rot_dim;
  const int half = rot_dim / 2;
  const T* sines = cosines + half;
  const int part = blockIdx.y;
  const int thread = threadIdx.x;

  bool scalar = true;
  if constexpr (SPAN > 0) {
    using Vector = Pack<T, VEC>;
    constexpr unsigned LANES = SPAN / VEC;
    // The same for every thread of the grid: sizes and base addresses only. VEC is a power of two.
    const unsigned long long sizes =
        static_cast<unsigned long long>(half) | static_cast<unsigned long long>(rot_dim) |
        static_cast<unsigned long long>(head_size) | static_cast<unsigned long long>(query_stride) |
        static_cast<unsigned long long>(key_stride);
    const unsigned long long addresses = reinterpret_cast<unsigned long long>(query) |
                                         reinterpret_cast<unsigned long long>(key) |
                                         reinterpret_cast<unsigned long long>(cos_sin_cache);
    const bool aligned = sizes % VEC == 0 && addresses % sizeof(Vector) == 0;
    if (aligned) {
      scalar = false;
      const int lane = static_cast<int>(threadIdx.x % LANES);
      const int row = static_cast<int>(threadIdx.x / LANES);
      const int first = part * (ROWS * HEADS) + row;
      if (first < num_heads + num_kv_heads) {
        T* query_row = query + token * query_stride;
        T* key_row = key + token * key_stride;
#pragma unroll 1
        for (int pair = lane * VEC; pair < half; pair += SPAN) {
          Vector x[HEADS];
          Vector y[HEADS];
#pragma unroll
          for (int u = 0; u < HEADS; ++u) {
            const int h = first + u * ROWS;
            if (h < num_heads + num_kv_heads) {
              const T* at = (h < num_heads ? query_row + static_cast<int64_t>(h) * head_size
                                           : key_row + static_cast<int64_t>(h - num_heads) * head_size) +
                            pair;
              x[u] = load_pack<T, VEC, STREAM>(at);
              y[u] = load_pack<T, VEC, STREAM>(at + half);
            }
          }
          const Vector c = *reinterpret_cast<const Vector*>(cosines + pair);
          const Vector s = *reinterpret_cast<const Vector*>(sines + pair);
#pragma unroll
          for (int u = 0; u < HEADS; ++u) {
            const int h = first + u * ROWS;
            if (h < num_heads + num_kv_heads) {
              T* at = (h < num_heads ? query_row + static_cast<int64_t>(h) * head_size
                                     : key_row + static_cast<int64_t>(h - num_heads) * head_size) +
                      pair;
              Vector low;
              Vector high;
#pragma unroll
              for (int k = 0; k < VEC; ++k) {
                const float cv = static_cast<float>(c.v[k]);
                const float sv = static_cast<float>(s.v[k]);
                const float xv = static_cast<float>(x[u].v[k]);
                const float yv = static_cast<float>(y[u].v[k]);
                low.v[k] = static_cast<T>(xv * cv - yv * sv);
                high.v[k] = static_cast<T>(yv * cv + xv * sv);
              }
              store_pack<T, VEC, STREAM>(at, low);
              store_pack<T, VEC, STREAM>(at + half, high);
            }
          }
        }
      }
    }
  }

  if (scalar) {
    const int parts = SPAN > 0 ? static_cast<int>(gridDim.y) : 1;
    const int threads = blockDim.x;
    for (int i = part * threads + thread; i < num_heads * half; i += parts * threads) {
      const int64_t head = token * query_stride + i / half * head_size;
      rotate_pair(query + head, cosines, sines, i % half, half);
    }
    for (int i = (parts - 1 - part) * threads + thread; i < num_kv_heads * half; i += parts * threads) {
      const int64_t head = token * key_stride + i / half * head_size;
      rotate_pair(key + head, cosines, sines, i % half, half);
    }
  }
}
