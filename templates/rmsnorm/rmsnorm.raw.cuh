#include <cstdint>
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

__host__ __device__ __forceinline__ constexpr uint32_t ceil_div(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}

template <uint32_t VEC_SIZE, typename T>
__global__ void rmsnorm_kernel(const T* __restrict__ input, const T* __restrict__ weight,
                               T* __restrict__ output, const uint32_t d, const uint32_t input_stride,
                               const uint32_t output_stride, const float weight_bias, const float eps) {
  const uint32_t row = blockIdx.x;
  const uint32_t lane = threadIdx.x;
  const uint32_t warp = threadIdx.y;
  const uint32_t num_warps = blockDim.y;
  const uint32_t thread = lane + warp * 32;
  const uint32_t num_threads = num_warps * 32;
  const uint32_t rounds = ceil_div(d, VEC_SIZE * num_threads);
  extern __shared__ float warp_sums[];

  float sum_of_squares = 0.f;
  for (uint32_t i = 0; i < rounds; ++i) {
    const uint32_t column = (i * num_threads + thread) * VEC_SIZE;
    if (column < d) {
      aligned_vector<T, VEC_SIZE> x;
      x.load(input + row * input_stride + column);
#pragma unroll
      for (uint32_t j = 0; j < VEC_SIZE; ++j) {
        const float value = static_cast<float>(x[j]);
        sum_of_squares += value * value;
      }
    }
  }

  // Sum over the warp, then over the warps by the first of them.
#pragma unroll
  for (uint32_t offset = 16; offset > 0; offset /= 2) {
    sum_of_squares += __shfl_xor_sync(0xffffffffu, sum_of_squares, offset);
  }
  warp_sums[warp] = sum_of_squares;
  __syncthreads();
  if (warp == 0) {
    sum_of_squares = lane < num_warps ? warp_sums[lane] : 0.f;
#pragma unroll
    for (uint32_t offset = 16; offset > 0; offset /= 2) {
      sum_of_squares += __shfl_xor_sync(0xffffffffu, sum_of_squares, offset);
    }
    warp_sums[0] = sum_of_squares;
  }
  __syncthreads();
  const float scale = rsqrtf(warp_sums[0] / static_cast<float>(d) + eps);

  for (uint32_t i = 0; i < rounds; ++i) {
    const uint32_t column = (i * num_threads + thread) * VEC_SIZE;
    if (column < d) {
      aligned_vector<T, VEC_SIZE> x, w, result;
      x.load(input + row * input_stride + column);
      w.load(weight + column);
#pragma unroll
      for (uint32_t j = 0; j < VEC_SIZE; ++j) {
        result[j] =
            static_cast<T>(static_cast<float>(x[j]) * scale * (weight_bias + static_cast<float>(w[j])));
      }
      result.store(output + row * output_stride + column);
    }
  }
}
