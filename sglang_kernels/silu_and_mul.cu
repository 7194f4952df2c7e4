// out[t, i] = silu(input[t, i]) * input[t, d + i]: the gated activation of a transformer's feed-forward
// layer.
//
// One block a token, min(d / vector, 1024) threads, 16-byte accesses, fp32 arithmetic, and a scalar loop over
// the last d % (threads * vector) columns, as production launches it.
#include "aligned_vector.cuh"

#include <algorithm>
#include <cstdint>

__device__ __forceinline__ float silu(float x) {
  return x / (1.0f + expf(-x));
}

template <typename T, float (*Activation)(float)>
__global__ void act_and_mul_kernel(T* __restrict__ out, const T* __restrict__ input, const int d) {
  constexpr uint32_t vec_size = 16 / sizeof(T);
  const int64_t token = blockIdx.x;
  const int64_t first = threadIdx.x;
  const int64_t stride = blockDim.x;
  const T* gate = input + token * 2 * d;
  const T* up = gate + d;
  T* row = out + token * d;

#pragma unroll 1
  for (uint32_t i = first; i < d / vec_size; i += stride) {
    aligned_vector<T, vec_size> x, y, result;
    x.load(gate + i * vec_size);
    y.load(up + i * vec_size);
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j) {
      result[j] = static_cast<T>(Activation(static_cast<float>(x[j])) * static_cast<float>(y[j]));
    }
    result.store(row + i * vec_size);
  }

  // The columns that whole rounds of the block do not cover.
  const int64_t remaining = d % (stride * vec_size);
  const int64_t done = d - remaining;
#pragma unroll 1
  for (int64_t i = first; i < remaining; i += stride) {
    const float x = static_cast<float>(gate[done + i]);
    const float y = static_cast<float>(up[done + i]);
    row[done + i] = static_cast<T>(Activation(x) * y);
  }
}

template <typename T> void silu_and_mul(T* out, const T* input, int num_tokens, int d, cudaStream_t stream) {
  const uint32_t vec_size = 16 / sizeof(T);
  const dim3 grid(num_tokens);
  const dim3 block(std::min<uint32_t>(d / vec_size, 1024u));
  act_and_mul_kernel<T, silu><<<grid, block, 0, stream>>>(out, input, d);
}

template void silu_and_mul<__nv_bfloat16>(__nv_bfloat16*, const __nv_bfloat16*, int, int, cudaStream_t);
template void silu_and_mul<__half>(__half*, const __half*, int, int, cudaStream_t);
template void silu_and_mul<float>(float*, const float*, int, int, cudaStream_t);
