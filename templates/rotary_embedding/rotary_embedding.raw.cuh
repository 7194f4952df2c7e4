#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__device__ __forceinline__ void rotate_pair(T* head, const T* cosines, const T* sines, int pair, int half) {
  const float c = static_cast<float>(cosines[pair]);
  const float s = static_cast<float>(sines[pair]);
  const float x = static_cast<float>(head[pair]);
  const float y = static_cast<float>(head[pair + half]);
  head[pair] = static_cast<T>(x * c - y * s);
  head[pair + half] = static_cast<T>(y * c + x * s);
}

template <typename T>
__global__ void rotary_embedding_kernel(const int64_t* __restrict__ positions, T* __restrict__ query,
                                        T* __restrict__ key, const T* __restrict__ cos_sin_cache,
                                        const int rot_dim, const int64_t query_stride,
                                        const int64_t key_stride, const int num_heads, const int num_kv_heads,
                                        const int head_size) {
  const int token = blockIdx.x;
  const T* cosines = cos_sin_cache + positions[token] * rot_dim;
  const int half = rot_dim / 2;
  const T* sines = cosines + half;

  for (int i = threadIdx.x; i < num_heads * half; i += blockDim.x) {
    const int64_t head = token * query_stride + i / half * head_size;
    rotate_pair(query + head, cosines, sines, i % half, half);
  }
  for (int i = threadIdx.x; i < num_kv_heads * half; i += blockDim.x) {
    const int64_t head = token * key_stride + i / half * head_size;
    rotate_pair(key + head, cosines, sines, i % half, half);
  }
}
