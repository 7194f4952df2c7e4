// Row by row: output = input / sqrt(mean(input^2) + eps) * (bias + weight).
//
// One block a row, (32, warps) threads with warps = ceil(min(1024, d / vector) / 32), 16-byte accesses; the
// row is read twice, as production launches it.
#include "aligned_vector.cuh"

#include <algorithm>
#include <cstdint>

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

template <typename T>
void rmsnorm(const T* input, const T* weight, T* output, int num_tokens, int d, float eps,
             cudaStream_t stream) {
  constexpr uint32_t VEC_SIZE = 16 / sizeof(T);
  const uint32_t block_size = std::min<uint32_t>(1024u, d / VEC_SIZE);
  const uint32_t num_warps = ceil_div(block_size, 32);
  const dim3 grid(num_tokens);
  const dim3 block(32, num_warps);
  rmsnorm_kernel<VEC_SIZE, T>
      <<<grid, block, num_warps * sizeof(float), stream>>>(input, weight, output, d, d, d, 0.f, eps);
}

template void rmsnorm<__nv_bfloat16>(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, int, int,
                                     float, cudaStream_t);
template void rmsnorm<__half>(const __half*, const __half*, __half*, int, int, float, cudaStream_t);
template void rmsnorm<float>(const float*, const float*, float*, int, int, float, cudaStream_t);
