// Row by row: x = input + residual; residual = x; input = x / sqrt(mean(x^2) + eps) * (bias + weight).
//
// One block a row, (32, warps) threads with warps = ceil(min(1024, d / vector) / 32), 16-byte accesses, x
// kept in fp32 in dynamic shared memory between the two passes, as production launches it.
#include "aligned_vector.cuh"

#include <algorithm>
#include <cstdint>
#include <numeric>

__host__ __device__ __forceinline__ constexpr uint32_t ceil_div(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}

template <uint32_t VEC_SIZE, typename T>
__global__ void fused_add_rmsnorm_kernel(T* __restrict__ input, T* __restrict__ residual,
                                         const T* __restrict__ weight, const uint32_t d,
                                         const uint32_t input_stride, const uint32_t residual_stride,
                                         const float weight_bias, const float eps) {
  const uint32_t row = blockIdx.x;
  const uint32_t lane = threadIdx.x;
  const uint32_t warp = threadIdx.y;
  const uint32_t num_warps = blockDim.y;
  const uint32_t thread = lane + warp * 32;
  const uint32_t num_threads = num_warps * 32;
  const uint32_t rounds = ceil_div(d, VEC_SIZE * num_threads);
  extern __shared__ float shared[];
  float* shared_x = shared + ceil_div(num_warps, 4) * 4;

  float sum_of_squares = 0.f;
  for (uint32_t i = 0; i < rounds; ++i) {
    const uint32_t column = (i * num_threads + thread) * VEC_SIZE;
    if (column < d) {
      aligned_vector<T, VEC_SIZE> x_in, x_residual;
      aligned_vector<float, VEC_SIZE> x;
      x_in.load(input + row * input_stride + column);
      x_residual.load(residual + row * residual_stride + column);
#pragma unroll
      for (uint32_t j = 0; j < VEC_SIZE; ++j) {
        const float value = static_cast<float>(x_in[j]) + static_cast<float>(x_residual[j]);
        sum_of_squares += value * value;
        x_residual[j] = static_cast<T>(value);
        x[j] = value;
      }
      x_residual.store(residual + row * residual_stride + column);
      x.store(shared_x + column);
    }
  }

  // Sum over the warp, then over the warps by the first of them.
#pragma unroll
  for (uint32_t offset = 16; offset > 0; offset /= 2) {
    sum_of_squares += __shfl_xor_sync(0xffffffffu, sum_of_squares, offset);
  }
  shared[warp] = sum_of_squares;
  __syncthreads();
  if (warp == 0) {
    sum_of_squares = lane < num_warps ? shared[lane] : 0.f;
#pragma unroll
    for (uint32_t offset = 16; offset > 0; offset /= 2) {
      sum_of_squares += __shfl_xor_sync(0xffffffffu, sum_of_squares, offset);
    }
    shared[0] = sum_of_squares;
  }
  __syncthreads();
  const float scale = rsqrtf(shared[0] / static_cast<float>(d) + eps);

  for (uint32_t i = 0; i < rounds; ++i) {
    const uint32_t column = (i * num_threads + thread) * VEC_SIZE;
    if (column < d) {
      aligned_vector<T, VEC_SIZE> w, result;
      aligned_vector<float, VEC_SIZE> x;
      w.load(weight + column);
      x.load(shared_x + column);
#pragma unroll
      for (uint32_t j = 0; j < VEC_SIZE; ++j) {
        result[j] = static_cast<T>(x[j] * scale * (weight_bias + static_cast<float>(w[j])));
      }
      result.store(input + row * input_stride + column);
    }
  }
}

template <typename T>
void fused_add_rmsnorm(T* input, T* residual, const T* weight, int num_tokens, int d, float eps,
                       cudaStream_t stream) {
  const uint32_t block_size = std::min<uint32_t>(1024u, d / (16 / sizeof(T)));
  const uint32_t num_warps = ceil_div(block_size, 32);
  const dim3 grid(num_tokens);
  const dim3 block(32, num_warps);
  const uint32_t shared_bytes = (ceil_div(num_warps, 4) * 4 + d) * sizeof(float);
  constexpr uint32_t VEC_SIZE = 16 / sizeof(T);
  cudaFuncSetAttribute(fused_add_rmsnorm_kernel<VEC_SIZE, T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       shared_bytes);
  fused_add_rmsnorm_kernel<VEC_SIZE, T>
      <<<grid, block, shared_bytes, stream>>>(input, residual, weight, d, d, d, 0.f, eps);
}

template void fused_add_rmsnorm<__nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, const __nv_bfloat16*, int, int,
                                               float, cudaStream_t);
template void fused_add_rmsnorm<__half>(__half*, __half*, const __half*, int, int, float, cudaStream_t);
template void fused_add_rmsnorm<float>(float*, float*, const float*, int, int, float, cudaStream_t);
