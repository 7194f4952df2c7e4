// output = e4m3(clamp(input / scale)) with one scale for all elements.
//
// 256 threads, at most 1024 blocks that stride over the elements in packs of 16, and a scalar loop over the
// last num_elements % 16, as production launches it.
#include "aligned_vector.cuh"

#include <cuda_fp8.h>

#include <algorithm>
#include <cstdint>

constexpr float FP8_MAX = 448.0f;

template <typename T>
__global__ void per_tensor_quant_fp8_kernel(const T* __restrict__ input, __nv_fp8_e4m3* __restrict__ output,
                                            const float* __restrict__ scale, const int64_t num_elements) {
  constexpr int VEC_SIZE = 16;
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int num_threads = blockDim.x * gridDim.x;
  const float inverse = 1.0f / *scale;
  const int32_t packs = num_elements / VEC_SIZE;

  for (int32_t i = thread; i < packs; i += num_threads) {
    aligned_vector<T, VEC_SIZE> x;
    aligned_vector<__nv_fp8_e4m3, VEC_SIZE> result;
    x.load(input + i * VEC_SIZE);
#pragma unroll
    for (int j = 0; j < VEC_SIZE; ++j)
      result[j] =
          static_cast<__nv_fp8_e4m3>(fmaxf(fminf(static_cast<float>(x[j]) * inverse, FP8_MAX), -FP8_MAX));
    result.store(output + i * VEC_SIZE);
  }
  for (int32_t i = packs * VEC_SIZE + thread; i < num_elements; i += num_threads) {
    const float value = fmaxf(fminf(static_cast<float>(input[i]) * inverse, FP8_MAX), -FP8_MAX);
    output[i] = static_cast<__nv_fp8_e4m3>(value);
  }
}

template <typename T>
void per_tensor_quant_fp8(const T* input, __nv_fp8_e4m3* output, const float* scale, int num_elements,
                          cudaStream_t stream) {
  const int block_size = 256;
  const int num_blocks = std::min((num_elements + block_size - 1) / block_size, 1024);
  const dim3 grid(num_blocks);
  const dim3 block(block_size);
  per_tensor_quant_fp8_kernel<T><<<grid, block, 0, stream>>>(input, output, scale, num_elements);
}

template void per_tensor_quant_fp8<__nv_bfloat16>(const __nv_bfloat16*, __nv_fp8_e4m3*, const float*, int,
                                                  cudaStream_t);
template void per_tensor_quant_fp8<__half>(const __half*, __nv_fp8_e4m3*, const float*, int, cudaStream_t);
template void per_tensor_quant_fp8<float>(const float*, __nv_fp8_e4m3*, const float*, int, cudaStream_t);
