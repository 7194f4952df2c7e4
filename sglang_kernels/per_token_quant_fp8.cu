// Row by row: scale = max |input| / 448, output = e4m3(clamp(input / scale)).
//
// Two kernels, packs of 16 elements and two passes over the row in both, as production has them: one block of
// 256 threads a token for small batches, and from 16 tokens a multiprocessor on one warp a token, 8 tokens a
// block. (On a Hopper GPU the block kernel is the faster one at large batches too.)
//
// A row of zeros has scale 0, and output * scale is 0 whatever the output: the block kernel writes 448 there
// (0 times the inverse of 0), the warp kernel 0. The operator promises nothing about such outputs.
#include "aligned_vector.cuh"

#include <cuda_fp8.h>

#include <cstdint>

constexpr float FP8_MAX = 448.0f;

__device__ __forceinline__ float block_max(float value) {
  __shared__ float warp_maxima[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  if (lane == 0)
    warp_maxima[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < blockDim.x / 32 ? warp_maxima[lane] : 0.0f;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

template <typename T, int VEC_SIZE>
__global__ void per_token_quant_fp8_kernel(const T* __restrict__ input, __nv_fp8_e4m3* __restrict__ output,
                                           float* __restrict__ scales, const int64_t d,
                                           const int64_t num_tokens) {
  const int token = blockIdx.x;
  if (token >= num_tokens)
    return;
  const T* token_input = input + token * d;
  __nv_fp8_e4m3* token_output = output + token * d;
  const int32_t packs = d / VEC_SIZE;

  float maximum = 0.0f;
  for (int32_t i = threadIdx.x; i < packs; i += blockDim.x) {
    aligned_vector<T, VEC_SIZE> x;
    x.load(token_input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      maximum = fmaxf(maximum, fabsf(static_cast<float>(x[j])));
  }
  maximum = block_max(maximum);

  __shared__ float shared_scale;
  if (threadIdx.x == 0) {
    shared_scale = maximum / FP8_MAX;
    scales[token] = shared_scale;
  }
  __syncthreads();
  const float inverse = 1.0f / shared_scale;

  for (int32_t i = threadIdx.x; i < packs; i += blockDim.x) {
    aligned_vector<T, VEC_SIZE> x;
    aligned_vector<__nv_fp8_e4m3, VEC_SIZE> result;
    x.load(token_input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      result[j] =
          static_cast<__nv_fp8_e4m3>(fmaxf(fminf(static_cast<float>(x[j]) * inverse, FP8_MAX), -FP8_MAX));
    result.store(token_output + i * VEC_SIZE);
  }
}

// Eight tokens a block of 256 threads: every warp reduces and writes a row by itself.
template <typename T, int TOKENS_PER_BLOCK, int VEC_SIZE>
__global__ void
per_token_quant_fp8_warp_kernel(const T* __restrict__ input, __nv_fp8_e4m3* __restrict__ output,
                                float* __restrict__ scales, const int64_t d, const int64_t num_tokens) {
  const int lane = threadIdx.x % 32;
  const int token = blockIdx.x * TOKENS_PER_BLOCK + threadIdx.x / 32;
  if (token >= num_tokens)
    return;
  const T* token_input = input + token * d;
  __nv_fp8_e4m3* token_output = output + token * d;
  const int32_t packs = d / VEC_SIZE;

  float maximum = 0.0f;
  for (int32_t i = lane; i < packs; i += 32) {
    aligned_vector<T, VEC_SIZE> x;
    x.load(token_input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      maximum = fmaxf(maximum, fabsf(static_cast<float>(x[j])));
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, offset));

  const float scale = maximum / FP8_MAX;
  if (lane == 0)
    scales[token] = scale;
  const float inverse = scale == 0.0f ? 0.0f : 1.0f / scale;

  for (int32_t i = lane; i < packs; i += 32) {
    aligned_vector<T, VEC_SIZE> x;
    aligned_vector<__nv_fp8_e4m3, VEC_SIZE> result;
    x.load(token_input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      result[j] =
          static_cast<__nv_fp8_e4m3>(fmaxf(fminf(static_cast<float>(x[j]) * inverse, FP8_MAX), -FP8_MAX));
    result.store(token_output + i * VEC_SIZE);
  }
}

template <typename T>
void per_token_quant_fp8(const T* input, __nv_fp8_e4m3* output, float* scales, int num_tokens, int d,
                         cudaStream_t stream) {
  constexpr int THREADS = 256;
  constexpr int TOKENS_PER_BLOCK = THREADS / 32;
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  const dim3 block(THREADS);
  if (num_tokens >= multiprocessors * 2 * TOKENS_PER_BLOCK) {
    const dim3 grid((num_tokens + TOKENS_PER_BLOCK - 1) / TOKENS_PER_BLOCK);
    if (d % 16 == 0)
      per_token_quant_fp8_warp_kernel<T, TOKENS_PER_BLOCK, 16>
          <<<grid, block, 0, stream>>>(input, output, scales, d, num_tokens);
    else if (d % 8 == 0)
      per_token_quant_fp8_warp_kernel<T, TOKENS_PER_BLOCK, 8>
          <<<grid, block, 0, stream>>>(input, output, scales, d, num_tokens);
    else
      per_token_quant_fp8_warp_kernel<T, TOKENS_PER_BLOCK, 4>
          <<<grid, block, 0, stream>>>(input, output, scales, d, num_tokens);
    return;
  }
  const dim3 grid(num_tokens);
  if (d % 16 == 0)
    per_token_quant_fp8_kernel<T, 16><<<grid, block, 0, stream>>>(input, output, scales, d, num_tokens);
  else if (d % 8 == 0)
    per_token_quant_fp8_kernel<T, 8><<<grid, block, 0, stream>>>(input, output, scales, d, num_tokens);
  else
    per_token_quant_fp8_kernel<T, 4><<<grid, block, 0, stream>>>(input, output, scales, d, num_tokens);
}

template void per_token_quant_fp8<__nv_bfloat16>(const __nv_bfloat16*, __nv_fp8_e4m3*, float*, int, int,
                                                 cudaStream_t);
template void per_token_quant_fp8<__half>(const __half*, __nv_fp8_e4m3*, float*, int, int, cudaStream_t);
template void per_token_quant_fp8<float>(const float*, __nv_fp8_e4m3*, float*, int, int, cudaStream_t);
