#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename Index>
__global__ void store_kv_cache_kernel(uint64_t* __restrict__ k_cache, uint64_t* __restrict__ v_cache,
                                      const Index* __restrict__ loc, const size_t length,
                                      const uint64_t* __restrict__ k, const uint64_t* __restrict__ v,
                                      const size_t cache_stride, const size_t input_stride,
                                      const size_t pieces) {
  const size_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const size_t row = thread / 32;
  const size_t lane = thread % 32;
  if (row >= length)
    return;
  const size_t slot = static_cast<size_t>(loc[row]);
  const uint64_t* k_source = k + row * input_stride;
  const uint64_t* v_source = v + row * input_stride;
  uint64_t* k_target = k_cache + slot * cache_stride;
  uint64_t* v_target = v_cache + slot * cache_stride;
  for (size_t i = 0; i < pieces; ++i) {
    k_target[lane + i * 32] = k_source[lane + i * 32];
    v_target[lane + i * 32] = v_source[lane + i * 32];
  }
}
