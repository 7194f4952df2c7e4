// The mean of two numbers and the lower tail of the normal distribution, in single precision, and the first of
// them rounded.
#include <cuda_bf16.h>

__global__ void blend_kernel(float* __restrict__ mean, float* __restrict__ tail, __nv_bfloat16* __restrict__ rounded,
                             const float* __restrict__ a, const float* __restrict__ b, const int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) {
    const float x = a[index];
    mean[index] = 0.5f * x + 0.5f * b[index];
    tail[index] = 0.5f * erfcf(-x);
    rounded[index] = __float2bfloat16_rn(x);
  }
}
