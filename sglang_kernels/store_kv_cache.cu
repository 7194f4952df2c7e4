// k_cache[loc[i]] = k[i] and v_cache[loc[i]] = v[i]: new keys and values go to their slots of the cache.
//
// One warp a row, 256 threads a block, 8 bytes a thread and access, the loop over a row's 256-byte pieces
// unrolled, as production launches it. Rows are whole multiples of 256 bytes; strides are in 8-byte units.
#include <cstddef>
#include <cstdint>

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

void store_kv_cache(uint64_t* k_cache, uint64_t* v_cache, const int64_t* loc, int length, const uint64_t* k,
                    const uint64_t* v, int row_bytes, cudaStream_t stream) {
  constexpr int num_threads = 256;
  constexpr int num_warps = num_threads / 32;
  const int num_blocks = (length + num_warps - 1) / num_warps;
  const size_t stride = row_bytes / sizeof(uint64_t);
  store_kv_cache_kernel<int64_t><<<num_blocks, num_threads, 0, stream>>>(k_cache, v_cache, loc, length, k, v,
                                                                         stride, stride, row_bytes / 256);
}
