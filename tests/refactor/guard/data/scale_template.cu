// out = factor * in, ITEMS elements a thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T, unsigned BLOCK, int ITEMS>
__global__ void scale_kernel(T* __restrict__ out, const T* __restrict__ in, const float factor, const int count) {
  if constexpr (ITEMS == 1) {
    const int index = blockIdx.x * BLOCK + threadIdx.x;
    if (index < count) {
      const float value = static_cast<float>(in[index]);
      out[index] = static_cast<T>(factor * value);
    }
  } else {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int index = (blockIdx.x * ITEMS + item) * BLOCK + threadIdx.x;
      if (index < count) {
        const float value = static_cast<float>(in[index]);
        out[index] = static_cast<T>(factor * value);
      }
    }
  }
}
