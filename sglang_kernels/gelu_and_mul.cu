// out[t, i] = gelu(input[t, i]) * input[t, d + i], gelu(x) = x / 2 * (1 + erf(x / sqrt(2))): the gated
// activation of a transformer's feed-forward layer.
//
// One block a token, min(d / vector, 1024) threads, 16-byte accesses, fp32 arithmetic, and a scalar loop over
// the last d % (threads * vector) columns, as production launches it.
#include "aligned_vector.cuh"

#include <algorithm>
#include <cstdint>

__device__ __forceinline__ float gelu(const float& x) {
  constexpr float inverse_root_of_two = 0.70710678118654752440f;
  return x * (0.5f * (1.0f + erff(x * inverse_root_of_two)));
}

template <typename T, float (*Activation)(const float&)>
__global__ void act_and_mul_kernel(T* __restrict__ out, const T* __restrict__ input, const int d) {
  constexpr uint32_t vec_size = 16 / sizeof(T);
  const int64_t token = blockIdx.x;
  const int64_t thread = threadIdx.x;
  const int64_t stride = blockDim.x;
  const int64_t offset = token * 2 * d;

  // Programmatic dependent launch; both instructions do nothing unless the launch asks for it.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)
  asm volatile("griddepcontrol.wait;");
#endif

#pragma unroll 1
  for (uint32_t i = thread; i < d / vec_size; i += stride) {
    aligned_vector<T, vec_size> gate, up, result;
    gate.load(input + offset + i * vec_size);
    up.load(input + offset + d + i * vec_size);
#pragma unroll
    for (uint32_t j = 0; j < vec_size; ++j)
      result[j] = static_cast<T>(Activation(static_cast<float>(gate[j])) * static_cast<float>(up[j]));
    result.store(out + token * d + i * vec_size);
  }

  // The columns that whole rounds of the block do not cover.
  const int64_t done = d - d % (stride * vec_size);
#pragma unroll 1
  for (int64_t i = thread; i < d % (stride * vec_size); i += stride) {
    const float x = static_cast<float>(input[offset + done + i]);
    const float y = static_cast<float>(input[offset + done + d + i]);
    out[token * d + done + i] = static_cast<T>(Activation(x) * y);
  }

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

template <typename T> void gelu_and_mul(T* out, const T* input, int num_tokens, int d, cudaStream_t stream) {
  const uint32_t vec_size = 16 / sizeof(T);
  const dim3 grid(num_tokens);
  const dim3 block(std::min<uint32_t>(d / vec_size, 1024u));
  act_and_mul_kernel<T, gelu><<<grid, block, 0, stream>>>(out, input, d);
}

template void gelu_and_mul<__nv_bfloat16>(__nv_bfloat16*, const __nv_bfloat16*, int, int, cudaStream_t);
template void gelu_and_mul<__half>(__half*, const __half*, int, int, cudaStream_t);
template void gelu_and_mul<float>(float*, const float*, int, int, cudaStream_t);
