// Gathers what a paged cache holds of ragged sequences. A block takes WARPS * ROWS tokens of a sequence at a time, ROWS neighbours a
// warp, all of which are read before the first is written; rows that lie where vectors do move VEC numbers at once. With STAGE the
// numbers of the pages that these tokens lie in are brought to shared memory.
#include <cuda_bf16.h>

template <int VEC>
struct alignas(2 * VEC) Piece {
  __nv_bfloat16 at[VEC];
};

template <int WARPS, int VEC, int ROWS, int STAGE>
__global__ void gather_pages_kernel(__nv_bfloat16* __restrict__ out, const __nv_bfloat16* __restrict__ cache, const int* __restrict__ table,
                                    const int* __restrict__ starts, const int* __restrict__ lengths, const int page, const int width,
                                    const long long table_stride, const long long page_stride, const long long token_stride) {
  constexpr int CHUNK = WARPS * ROWS;
  __shared__ int staged[CHUNK];
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int sequence = blockIdx.x;
  const int begin = starts[sequence], room = starts[sequence + 1] - begin;
  const int length = min(lengths[sequence], room);
  const int* numbers = table + sequence * table_stride;
  const bool aligned = reinterpret_cast<unsigned long long>(cache) % (2 * VEC) == 0 && reinterpret_cast<unsigned long long>(out) % (2 * VEC) == 0;
  const bool wide = VEC > 1 && aligned && width % VEC == 0 && token_stride % VEC == 0 && page_stride % VEC == 0;
  const int packs = wide ? width / VEC : 0;
  for (int first = blockIdx.y * CHUNK; first < room; first += gridDim.y * CHUNK) {
    const int entry = first / page;
    if (STAGE) {
      const int end = min(first + CHUNK, length);
      const int pages = end > first ? (end - 1) / page - entry + 1 : 0;
      const int place = warp * 32 + lane;
      __syncthreads();
      if (place < pages)
        staged[place] = numbers[entry + place];
      __syncthreads();
    }
    const int own = first + warp * ROWS;
    const __nv_bfloat16* source[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int token = own + r;
      int number = -1;
      if (token < length)
        number = STAGE ? staged[token / page - entry] : numbers[token / page];
      source[r] = number < 0 ? nullptr : cache + number * page_stride + token % page * token_stride;
    }
    __nv_bfloat16* target = out + (static_cast<long long>(begin) + own) * width;
    for (int c = lane; c < packs; c += 32) {
      Piece<VEC> held[ROWS];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        if (source[r] != nullptr) {
          held[r] = *reinterpret_cast<const Piece<VEC>*>(source[r] + c * VEC);
        } else {
#pragma unroll
          for (int v = 0; v < VEC; ++v)
            held[r].at[v] = __float2bfloat16(0.f);
        }
      }
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
        if (own + r < room)
          *reinterpret_cast<Piece<VEC>*>(target + static_cast<long long>(r) * width + c * VEC) = held[r];
    }
    for (int c = packs * VEC + lane; c < width; c += 32) {
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
        if (own + r < room)
          target[static_cast<long long>(r) * width + c] = source[r] != nullptr ? source[r][c] : __float2bfloat16(0.f);
    }
  }
}
