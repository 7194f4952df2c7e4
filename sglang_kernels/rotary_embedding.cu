// Rotary position embedding in place: the first rot_dim elements of every query and key head are turned, pair
// (i, i + rot_dim / 2), by the angle whose cosine and sine the cache holds for the token's position.
//
// One block a token, min(num_heads * rot_dim / 2, 512) threads, one pair a thread and round, as production
// launches it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

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

template <typename T>
void rotary_embedding(const int64_t* positions, T* query, T* key, const T* cos_sin_cache, int num_tokens,
                      int num_heads, int num_kv_heads, int head_size, int rot_dim, cudaStream_t stream) {
  const int64_t query_stride = num_heads * head_size;
  const int64_t key_stride = num_kv_heads * head_size;
  const dim3 grid(num_tokens);
  const dim3 block(std::min(num_heads * rot_dim / 2, 512));
  rotary_embedding_kernel<T><<<grid, block, 0, stream>>>(positions, query, key, cos_sin_cache, rot_dim,
                                                         query_stride, key_stride, num_heads, num_kv_heads,
                                                         head_size);
}

template void rotary_embedding<__nv_bfloat16>(const int64_t*, __nv_bfloat16*, __nv_bfloat16*,
                                              const __nv_bfloat16*, int, int, int, int, int, cudaStream_t);
template void rotary_embedding<__half>(const int64_t*, __half*, __half*, const __half*, int, int, int, int,
                                       int, cudaStream_t);
template void rotary_embedding<float>(const int64_t*, float*, float*, const float*, int, int, int, int, int,
                                      cudaStream_t);
