// out = factor * in, one thread an element.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__global__ void scale_kernel(T* __restrict__ out, const T* __restrict__ in, const float factor, const int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) {
    const float value = static_cast<float>(in[index]);
    out[index] = static_cast<T>(factor * value);
  }
}
