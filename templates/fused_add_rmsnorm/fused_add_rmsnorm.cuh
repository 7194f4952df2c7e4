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

__host__ __device__ __forceinline__ constexpr uint32_t ceil_div(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}

template <uint32_t VEC_SIZE, typename T, unsigned BLOCK_Y, unsigned KEEP, int LOAD_EARLY, unsigned ROWS, int UNROLL, int UNROLL_2, int LOAD_CACHE, int STORE_CACHE, int MIN_BLOCKS, int EVERY_WARP, uint32_t FIXED_D>
__global__ void __launch_bounds__(MIN_BLOCKS == 0 ? 0 : (BLOCK_Y == 0 ? 1024 : 32 * BLOCK_Y), MIN_BLOCKS) fused_add_rmsnorm_kernel(T* __restrict__ input, T* __restrict__ residual,
                                         const T* __restrict__ weight, const uint32_t d,
                                         const uint32_t input_stride, const uint32_t residual_stride,
                                         const float weight_bias, const float eps) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  const uint32_t row = (blockIdx.x * ROWS + lathe_row);
  const uint32_t lane = threadIdx.x;
  const uint32_t warp = threadIdx.y;
  const uint32_t num_warps = (BLOCK_Y == 0 ? blockDim.y : BLOCK_Y);
  const uint32_t thread = lane + warp * 32;
  const uint32_t num_threads = num_warps * 32;
  const uint32_t rounds = ceil_div((FIXED_D == 0 ? d : FIXED_D), VEC_SIZE * num_threads);
  extern __shared__ float shared[];
  float* shared_x = shared + ceil_div(num_warps, 4) * 4;

  float sum_of_squares = 0.f;
  alignas(16) float lathe_kept[KEEP == 0 ? 1 : KEEP * VEC_SIZE];
  aligned_vector<T, VEC_SIZE> lathe_early[LOAD_EARLY == 0 ? 1 : KEEP];
#pragma unroll (KEEP == 0 ? UNROLL : KEEP)
  for (uint32_t i = 0; KEEP == 0 ? i < rounds : i < KEEP; ++i) {
    if constexpr (LOAD_EARLY == 1) {
      const uint32_t column = (i * num_threads + thread) * VEC_SIZE;
      if (column < (FIXED_D == 0 ? d : FIXED_D))
        lathe_early[i].load(weight + column);
    }
    const uint32_t column = (i * num_threads + thread) * VEC_SIZE;
    if (column < (FIXED_D == 0 ? d : FIXED_D)) {
      aligned_vector<T, VEC_SIZE> x_in, x_residual;
      aligned_vector<float, VEC_SIZE> x;
      x_in.template load<LOAD_CACHE>(input + row * input_stride + column);
      x_residual.template load<LOAD_CACHE>(residual + row * residual_stride + column);
#pragma unroll
      for (uint32_t j = 0; j < VEC_SIZE; ++j) {
        const float value = static_cast<float>(x_in[j]) + static_cast<float>(x_residual[j]);
        sum_of_squares += value * value;
        x_residual[j] = static_cast<T>(value);
        x[j] = value;
      }
      x_residual.template store<STORE_CACHE>(residual + row * residual_stride + column);
      static_assert(KEEP == 0 || (sizeof(x) <= VEC_SIZE * sizeof(float) && alignof(decltype(x)) <= 16));
      x.store(KEEP == 0 ? shared_x + column : lathe_kept + i * VEC_SIZE);
    }
  }

  // Sum over the warp, then over the warps by the first of them.
#pragma unroll
  for (uint32_t offset = 16; offset > 0; offset /= 2) {
    sum_of_squares += __shfl_xor_sync(0xffffffffu, sum_of_squares, offset);
  }
  shared[warp] = sum_of_squares;
  __syncthreads();
  float lathe_total = float(0);
  if (EVERY_WARP == 1 || (warp == 0)) {
    sum_of_squares = lane < num_warps ? shared[lane] : 0.f;
#pragma unroll
    for (uint32_t offset = 16; offset > 0; offset /= 2) {
      sum_of_squares += __shfl_xor_sync(0xffffffffu, sum_of_squares, offset);
    }
    (EVERY_WARP == 1 ? lathe_total : shared[0]) = sum_of_squares;
  }
  if constexpr (EVERY_WARP == 0)
    __syncthreads();
  const float scale = rsqrtf((EVERY_WARP == 1 ? lathe_total : shared[0]) / static_cast<float>((FIXED_D == 0 ? d : FIXED_D)) + eps);

#pragma unroll (KEEP == 0 ? UNROLL_2 : KEEP)
  for (uint32_t i = 0; KEEP == 0 ? i < rounds : i < KEEP; ++i) {
    const uint32_t column = (i * num_threads + thread) * VEC_SIZE;
    if (column < (FIXED_D == 0 ? d : FIXED_D)) {
      aligned_vector<T, VEC_SIZE> w, result;
      aligned_vector<float, VEC_SIZE> x;
      if constexpr (LOAD_EARLY == 0)
        w.load(weight + column);
      else
        w = lathe_early[i];
      static_assert(KEEP == 0 || (sizeof(x) <= VEC_SIZE * sizeof(float) && alignof(decltype(x)) <= 16));
      x.load(KEEP == 0 ? shared_x + column : lathe_kept + i * VEC_SIZE);
#pragma unroll
      for (uint32_t j = 0; j < VEC_SIZE; ++j) {
        result[j] = static_cast<T>(x[j] * scale * (weight_bias + static_cast<float>(w[j])));
      }
      result.template store<STORE_CACHE>(input + row * input_stride + column);
    }
  }
  if constexpr (ROWS > 1)
    __syncthreads();
  }
}
