#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifndef INFINITY
#define INFINITY (__builtin_inff ())
#endif

constexpr int BITS_PER_WORD = 32;

constexpr int THREADS_PER_BLOCK = 256;

template <typename T, int BITS_PER_THREAD>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    apply_token_bitmask_kernel(T* __restrict__ logits, const int32_t* __restrict__ bitmask,
                               const int vocab_size, const int logits_stride, const int bitmask_stride) {
  constexpr int pack_size = 16 / sizeof(T);
  constexpr uint32_t pack_mask = (1u << pack_size) - 1;
  const int row = blockIdx.y;
  const int block_offset = blockIdx.x * THREADS_PER_BLOCK * BITS_PER_THREAD;
  T* row_logits = logits + static_cast<int64_t>(row) * logits_stride + block_offset;
  const int32_t* row_bits =
      bitmask + static_cast<int64_t>(row) * bitmask_stride + block_offset / BITS_PER_WORD;
  const int shift = threadIdx.x % (BITS_PER_WORD / pack_size) * pack_size;

#pragma unroll
  for (int offset = threadIdx.x * pack_size; offset < THREADS_PER_BLOCK * BITS_PER_THREAD;
       offset += THREADS_PER_BLOCK * pack_size) {
    if (block_offset + offset >= vocab_size)
      break;
    const uint32_t masked = (~row_bits[offset / BITS_PER_WORD] >> shift) & pack_mask;
    if (masked == 0)
      continue;
    uint4 pack;
    if (masked != pack_mask)
      pack = *reinterpret_cast<const uint4*>(row_logits + offset);
#pragma unroll
    for (int i = 0; i < pack_size; ++i)
      if (masked >> i & 1)
        reinterpret_cast<T*>(&pack)[i] = static_cast<T>(-INFINITY);
    *reinterpret_cast<uint4*>(row_logits + offset) = pack;
  }
}
