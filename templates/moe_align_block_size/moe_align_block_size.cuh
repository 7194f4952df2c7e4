#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// The unsigned type that moves ALIGNMENT bytes at once.
template <unsigned ALIGNMENT> struct lathe_carrier {
  using type = uint4;
};
template <> struct lathe_carrier<1> {
  using type = unsigned char;
};
template <> struct lathe_carrier<2> {
  using type = unsigned short;
};
template <> struct lathe_carrier<4> {
  using type = unsigned;
};
template <> struct lathe_carrier<8> {
  using type = uint2;
};
// Cache policy of a load: 0 plain, 1 streaming (evicted first), 2 read-only data path.
template <int CACHE, class V> __device__ __forceinline__ V lathe_load(const V* address) {
  if constexpr (CACHE == 0) {
    return *address;
  } else {
    using carrier = typename lathe_carrier<alignof(V)>::type;
    V value;
#pragma unroll
    for (unsigned i = 0; i < sizeof(V) / sizeof(carrier); ++i) {
      const carrier* part = reinterpret_cast<const carrier*>(address) + i;
      reinterpret_cast<carrier*>(&value)[i] = CACHE == 1 ? __ldcs(part) : __ldg(part);
    }
    return value;
  }
}
// Cache policy of a store: 0 plain, 1 streaming (evicted first).
template <int CACHE, class V, class W> __device__ __forceinline__ void lathe_store(const W& value, V* address) {
  if constexpr (CACHE == 0) {
    *address = value;
  } else {
    using carrier = typename lathe_carrier<alignof(V)>::type;
    V converted;
    converted = value;
#pragma unroll
    for (unsigned i = 0; i < sizeof(V) / sizeof(carrier); ++i)
      __stcs(reinterpret_cast<carrier*>(address) + i, reinterpret_cast<const carrier*>(&converted)[i]);
  }
}

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

template <typename Index, unsigned BLOCK, unsigned ROWS, int UNROLL, int UNROLL_2, int STORE_CACHE, int MIN_BLOCKS, int32_t FIXED_BLOCK_SIZE, size_t FIXED_NUMEL>
__global__ void
__launch_bounds__(MIN_BLOCKS == 0 ? 0 : (BLOCK == 0 ? 1024 : BLOCK), MIN_BLOCKS) moe_align_block_size_kernel(const Index* __restrict__ topk_ids, int32_t* __restrict__ sorted_token_ids,
                            int32_t* __restrict__ expert_of_block, int32_t* __restrict__ total_slots,
                            const int32_t num_experts, const int32_t block_size, const size_t numel,
                            int32_t* __restrict__ cumsum, const bool pad_sorted_token_ids,
                            const int32_t scan_size, const int32_t max_slots) {
  for (unsigned lathe_row = 0; lathe_row < ROWS; ++lathe_row) {
  if ((blockIdx.x * ROWS + lathe_row) == 1) {
    if (pad_sorted_token_ids) {
      const int32_t empty = static_cast<int32_t>((FIXED_NUMEL == 0 ? numel : FIXED_NUMEL));
      const int4 four = make_int4(empty, empty, empty, empty);
      const int32_t packs = (max_slots + 3) / 4;
      int4* target = reinterpret_cast<int4*>(sorted_token_ids);
#pragma unroll UNROLL
      for (int32_t i = threadIdx.x; i < packs; i += (BLOCK == 0 ? blockDim.x : BLOCK))
        target[i] = four;
    }
    continue;
  }

  extern __shared__ int32_t shared[];
  int32_t* counts = shared;                    // [num_experts]
  int32_t* prefix = counts + num_experts;      // [num_experts + 1]
  int32_t* scanned = prefix + num_experts + 1; // [scan_size]
  int32_t* warp_sums = scanned + scan_size;    // [32]
  __shared__ int32_t slots;
  const size_t thread = threadIdx.x;
  const size_t stride = (BLOCK == 0 ? blockDim.x : BLOCK);

  if (thread < num_experts)
    counts[thread] = 0;
  __syncthreads();
#pragma unroll UNROLL_2
  for (size_t i = thread; i < (FIXED_NUMEL == 0 ? numel : FIXED_NUMEL); i += stride) {
    const int expert = static_cast<int>(topk_ids[i]) + 1;
    atomicAdd(&counts[expert], 1);
  }
  __syncthreads();

  int32_t padded = 0;
  if (thread < num_experts) {
    padded = (counts[thread] + (FIXED_BLOCK_SIZE == 0 ? block_size : FIXED_BLOCK_SIZE) - 1) / (FIXED_BLOCK_SIZE == 0 ? block_size : FIXED_BLOCK_SIZE) * (FIXED_BLOCK_SIZE == 0 ? block_size : FIXED_BLOCK_SIZE);
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
    lathe_store<STORE_CACHE>(slots, total_slots);
  }
  __syncthreads();
  if (thread <= num_experts)
    lathe_store<STORE_CACHE>(prefix[thread], &cumsum[thread]);

  const int32_t blocks = slots / (FIXED_BLOCK_SIZE == 0 ? block_size : FIXED_BLOCK_SIZE);
  for (int32_t i = thread; i < blocks; i += stride) {
    const int32_t begin = i * (FIXED_BLOCK_SIZE == 0 ? block_size : FIXED_BLOCK_SIZE);
    int left = 0, right = num_experts;
    while (left < right) {
      const int middle = (left + right) >> 1;
      if (prefix[middle] <= begin)
        left = middle + 1;
      else
        right = middle;
    }
    lathe_store<STORE_CACHE>(left - 2, &expert_of_block[i]);
  }
  if constexpr (ROWS > 1)
    __syncthreads();
  }
}
