// logits[r, v] = -inf wherever bit v of row r of the bitmask is 0: tokens that a grammar does not admit.
//
// 256 threads a block, BITS_PER_THREAD vocabulary entries a thread in 16-byte packs, grid (ceil(vocabulary /
// (256 * BITS_PER_THREAD)), rows); packs whose bits are all 1 are skipped, packs whose bits are all 0 are
// written without a load, as production launches it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

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

constexpr int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

template <typename T>
void apply_token_bitmask(T* logits, const int32_t* bitmask, int num_rows, int vocab_size,
                         cudaStream_t stream) {
  const int blocks_per_row = ceil_div(2048 / THREADS_PER_BLOCK * 128, num_rows);
  const int bits_per_thread = ceil_div(vocab_size, THREADS_PER_BLOCK * blocks_per_row);
  const int bitmask_stride = vocab_size / BITS_PER_WORD;
  const dim3 block(THREADS_PER_BLOCK);
  if (bits_per_thread <= 8) {
    const dim3 grid(ceil_div(vocab_size, THREADS_PER_BLOCK * 8), num_rows);
    apply_token_bitmask_kernel<T, 8>
        <<<grid, block, 0, stream>>>(logits, bitmask, vocab_size, vocab_size, bitmask_stride);
  } else if (bits_per_thread <= 16) {
    const dim3 grid(ceil_div(vocab_size, THREADS_PER_BLOCK * 16), num_rows);
    apply_token_bitmask_kernel<T, 16>
        <<<grid, block, 0, stream>>>(logits, bitmask, vocab_size, vocab_size, bitmask_stride);
  } else {
    const dim3 grid(ceil_div(vocab_size, THREADS_PER_BLOCK * 32), num_rows);
    apply_token_bitmask_kernel<T, 32>
        <<<grid, block, 0, stream>>>(logits, bitmask, vocab_size, vocab_size, bitmask_stride);
  }
}

template void apply_token_bitmask<__nv_bfloat16>(__nv_bfloat16*, const int32_t*, int, int, cudaStream_t);
template void apply_token_bitmask<__half>(__half*, const int32_t*, int, int, cudaStream_t);
template void apply_token_bitmask<float>(float*, const int32_t*, int, int, cudaStream_t);
