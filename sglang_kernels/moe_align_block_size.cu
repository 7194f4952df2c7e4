// How tokens are laid out for the experts that they are sent to: the tokens of an expert fill whole blocks of
// block_size slots. counts[e] = how many of expert_ids_of_tokens are e - 1 (so that -1 may stand for an
// expert of another rank), padded = counts rounded up to block_size; cumsum = their exclusive sums,
// cumsum[num_experts] = *total_slots = their sum; expert_of_block[b] = the expert whose slots block b holds,
// less one; and sorted_token_ids[s] = numel (no token) in every slot that there is room for, which another
// kernel then fills.
//
// Two blocks of 1024 threads, as production launches it: the first counts by atomics in shared memory, sums
// by shuffles in two levels and searches the expert of each block of slots; the second stores the empty
// slots, 16 bytes a thread.
#include <cstdint>

__device__ __forceinline__ int warp_exclusive_scan(int value, unsigned mask = 0xffffffffu) {
  const int original = value;
#pragma unroll
  for (int offset = 1; offset < 32; offset <<= 1) {
    const int other = __shfl_up_sync(mask, value, offset);
    if ((threadIdx.x & 31) >= offset)
      value += other;
  }
  return value - original;
}

template <typename Index>
__global__ void
moe_align_block_size_kernel(const Index* __restrict__ topk_ids, int32_t* __restrict__ sorted_token_ids,
                            int32_t* __restrict__ expert_of_block, int32_t* __restrict__ total_slots,
                            const int32_t num_experts, const int32_t block_size, const size_t numel,
                            int32_t* __restrict__ cumsum, const bool pad_sorted_token_ids,
                            const int32_t scan_size, const int32_t max_slots) {
  if (blockIdx.x == 1) {
    if (pad_sorted_token_ids) {
      const int32_t empty = static_cast<int32_t>(numel);
      const int4 four = make_int4(empty, empty, empty, empty);
      const int32_t packs = (max_slots + 3) / 4;
      int4* target = reinterpret_cast<int4*>(sorted_token_ids);
      for (int32_t i = threadIdx.x; i < packs; i += blockDim.x)
        target[i] = four;
    }
    return;
  }

  extern __shared__ int32_t shared[];
  int32_t* counts = shared;                    // [num_experts]
  int32_t* prefix = counts + num_experts;      // [num_experts + 1]
  int32_t* scanned = prefix + num_experts + 1; // [scan_size]
  int32_t* warp_sums = scanned + scan_size;    // [32]
  __shared__ int32_t slots;
  const size_t thread = threadIdx.x;
  const size_t stride = blockDim.x;

  if (thread < num_experts)
    counts[thread] = 0;
  __syncthreads();
  for (size_t i = thread; i < numel; i += stride) {
    const int expert = static_cast<int>(topk_ids[i]) + 1;
    atomicAdd(&counts[expert], 1);
  }
  __syncthreads();

  int32_t padded = 0;
  if (thread < num_experts) {
    padded = (counts[thread] + block_size - 1) / block_size * block_size;
    scanned[thread] = padded;
  }
  if (thread >= num_experts && thread < scan_size)
    scanned[thread] = 0;
  __syncthreads();

  const int warp = thread / 32;
  const int lane = thread & 31;
  const int warps_of_scan = (scan_size + 31) / 32;
  const int value = thread < scan_size ? scanned[thread] : 0;
  const int before = warp_exclusive_scan(value);
  if (lane == 31)
    warp_sums[warp] = before + value;
  __syncthreads();
  if (warp == 0) {
    const int sum = lane < warps_of_scan ? warp_sums[lane] : 0;
    warp_sums[lane] = warp_exclusive_scan(sum);
  }
  __syncthreads();
  if (thread < scan_size)
    scanned[thread] = before + warp_sums[warp];
  __syncthreads();

  if (thread < num_experts)
    prefix[thread] = scanned[thread];
  if (thread == num_experts - 1) {
    slots = scanned[thread] + padded;
    prefix[num_experts] = slots;
    *total_slots = slots;
  }
  __syncthreads();
  if (thread <= num_experts)
    cumsum[thread] = prefix[thread];

  const int32_t blocks = slots / block_size;
  for (int32_t i = thread; i < blocks; i += stride) {
    const int32_t begin = i * block_size;
    int left = 0, right = num_experts;
    while (left < right) {
      const int middle = (left + right) >> 1;
      if (prefix[middle] <= begin)
        left = middle + 1;
      else
        right = middle;
    }
    expert_of_block[i] = left - 2;
  }
}

void moe_align_block_size(const int64_t* topk_ids, int32_t* sorted_token_ids, int32_t* expert_of_block,
                          int32_t* total_slots, int32_t num_experts, int32_t block_size, size_t numel,
                          int32_t* cumsum, bool pad_sorted_token_ids, int32_t max_slots,
                          cudaStream_t stream) {
  const int threads = 1024;
  const int32_t scan_size = (num_experts + 31) / 32 * 32;
  const size_t shared_bytes = (num_experts + (num_experts + 1) + scan_size + 32) * sizeof(int32_t);
  moe_align_block_size_kernel<int64_t><<<2, threads, shared_bytes, stream>>>(
      topk_ids, sorted_token_ids, expert_of_block, total_slots, num_experts, block_size, numel, cumsum,
      pad_sorted_token_ids, scan_size, max_slots);
}
