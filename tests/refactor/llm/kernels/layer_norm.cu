// Layer normalisation: a block normalises one row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;

__device__ __forceinline__ float sum_of_block(float value, float* partial) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = 0.f;
#pragma unroll
  for (int warp = 0; warp < WARPS; ++warp) {
    value += partial[warp];
  }
  // The next sum writes the same partial sums.
  __syncthreads();
  return value;
}

template <typename T>
__global__ void layer_norm_kernel(T* __restrict__ out, const T* __restrict__ in, const T* __restrict__ gamma,
                                  const T* __restrict__ beta, const int rows, const int columns,
                                  const float eps) {
  __shared__ float partial[WARPS];
  const int row = blockIdx.x;
  const T* source = in + static_cast<long long>(row) * columns;
  T* target = out + static_cast<long long>(row) * columns;

  float sum = 0.f;
  for (int i = threadIdx.x; i < columns; i += THREADS) {
    sum += static_cast<float>(source[i]);
  }
  const float mean = sum_of_block(sum, partial) / columns;

  float square_sum = 0.f;
  for (int i = threadIdx.x; i < columns; i += THREADS) {
    const float centred = static_cast<float>(source[i]) - mean;
    square_sum += centred * centred;
  }
  const float scale = rsqrtf(sum_of_block(square_sum, partial) / columns + eps);

  for (int i = threadIdx.x; i < columns; i += THREADS) {
    const float normal = (static_cast<float>(source[i]) - mean) * scale;
    target[i] = static_cast<T>(normal * static_cast<float>(gamma[i]) + static_cast<float>(beta[i]));
  }
}

template <typename T>
void layer_norm(T* out, const T* in, const T* gamma, const T* beta, int rows, int columns, float eps,
                cudaStream_t stream) {
  layer_norm_kernel<T><<<rows, THREADS, 0, stream>>>(out, in, gamma, beta, rows, columns, eps);
}

template void layer_norm<__half>(__half*, const __half*, const __half*, const __half*, int, int, float,
                                 cudaStream_t);
