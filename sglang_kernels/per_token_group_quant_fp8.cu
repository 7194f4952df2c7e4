// Groups of group_size elements: scale = max(eps, max |input|) / max_8bit, output = e4m3(clamp(input /
// scale)).
//
// 16 threads a group, up to 16 groups a block by what divides their number, 16-byte loads, two passes over
// the group, a true division for each element, as production launches it.
#include "aligned_vector.cuh"

#include <cuda_fp8.h>

#include <cstdint>

constexpr int THREADS_PER_GROUP = 16;

// Over the half of the warp that the thread is in.
__device__ __forceinline__ float group_max(float value) {
  const unsigned mask = threadIdx.x % 32 >= 16 ? 0xffff0000u : 0x0000ffffu;
#pragma unroll
  for (int offset = THREADS_PER_GROUP / 2; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(mask, value, offset));
  return value;
}

template <typename T>
__global__ void
per_token_group_quant_fp8_kernel(const T* __restrict__ input, __nv_fp8_e4m3* __restrict__ output,
                                 float* __restrict__ scales, const int group_size, const int groups_per_block,
                                 const float eps, const float min_8bit, const float max_8bit) {
  const int64_t local_group = threadIdx.x / THREADS_PER_GROUP;
  const int lane = threadIdx.x % THREADS_PER_GROUP;
  const int64_t block_group = blockIdx.x * groups_per_block;
  const int64_t group = block_group + local_group;
  const T* group_input = input + group * group_size;
  __nv_fp8_e4m3* group_output = output + group * group_size;
  constexpr uint32_t vec_size = 16 / sizeof(T);
  const int32_t packs = group_size / vec_size;

  float maximum = eps;
  for (int32_t i = lane; i < packs; i += THREADS_PER_GROUP) {
    aligned_vector<T, vec_size> x;
    x.load(group_input + i * vec_size);
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j)
      maximum = fmaxf(maximum, fabsf(static_cast<float>(x[j])));
  }
  maximum = group_max(maximum);

  const float scale = maximum / max_8bit;
  if (lane == 0)
    scales[group] = scale;

  for (int32_t i = lane; i < packs; i += THREADS_PER_GROUP) {
    aligned_vector<T, vec_size> x;
    x.load(group_input + i * vec_size);
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j) {
      const float quotient = fminf(fmaxf(static_cast<float>(x[j]) / scale, min_8bit), max_8bit);
      group_output[i * vec_size + j] = static_cast<__nv_fp8_e4m3>(quotient);
    }
  }
}

template <typename T>
void per_token_group_quant_fp8(const T* input, __nv_fp8_e4m3* output, float* scales, int num_groups,
                               int group_size, float eps, cudaStream_t stream) {
  int groups_per_block = 1;
  if (num_groups % 16 == 0)
    groups_per_block = 16;
  else if (num_groups % 8 == 0)
    groups_per_block = 8;
  else if (num_groups % 4 == 0)
    groups_per_block = 4;
  else if (num_groups % 2 == 0)
    groups_per_block = 2;
  const dim3 grid(num_groups / groups_per_block);
  const dim3 block(groups_per_block * THREADS_PER_GROUP);
  per_token_group_quant_fp8_kernel<T>
      <<<grid, block, 0, stream>>>(input, output, scales, group_size, groups_per_block, eps, -448.0f, 448.0f);
}

template void per_token_group_quant_fp8<__nv_bfloat16>(const __nv_bfloat16*, __nv_fp8_e4m3*, float*, int, int,
                                                       float, cudaStream_t);
template void per_token_group_quant_fp8<__half>(const __half*, __nv_fp8_e4m3*, float*, int, int, float,
                                                cudaStream_t);
template void per_token_group_quant_fp8<float>(const float*, __nv_fp8_e4m3*, float*, int, int, float,
                                               cudaStream_t);
