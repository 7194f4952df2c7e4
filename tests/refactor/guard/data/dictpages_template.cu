// Decodes a column that lies in pages: page p has the rows from row_starts[p] to row_starts[p + 1] and the codes from code_starts[p] to
// code_starts[p + 1]. A row has a value where its level is `level`; of these the first has the page's first code, and so on. Codes of `width` bits
// (1 to 32) lie one behind the other in words of 32 bits and are places in a dictionary. A row for which its page has no code left, or whose code is no
// place, is wrong; `wrong` counts those of a page. A block has a page at a time, and of it tiles in which a warp has ITEMS times 32 neighbouring rows. The
// first HELD entries of the dictionary stay in shared memory. With two TURNS a tile counts where the one before did not, and needs one barrier.
__device__ __forceinline__ unsigned code_at(const unsigned* words, const long long bit, const int width) {
  const unsigned* from = words + (bit >> 5);
  return __funnelshift_r(from[0], from[1], static_cast<unsigned>(bit) & 31u) & (0xffffffffu >> (32 - width));
}

template <int BLOCK, int ITEMS, int HELD, int TURNS>
__global__ void dictpages_kernel(long long* __restrict__ out, int* __restrict__ wrong, const unsigned char* __restrict__ levels,
                                 const unsigned* __restrict__ words, const long long* __restrict__ dictionary,
                                 const long long* __restrict__ row_starts, const long long* __restrict__ code_starts, const int pages, const int width,
                                 const int entries, const int level, const long long null_value, const long long wrong_value) {
  constexpr int WARPS = BLOCK / 32;
  __shared__ int counts[TURNS][WARPS];
  __shared__ int misses;
  __shared__ long long held[HELD > 0 ? HELD : 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // What is held is waited for at the first tile's barrier.
  if constexpr (HELD > 0)
    for (int entry = threadIdx.x; entry < HELD && entry < entries; entry += BLOCK)
      held[entry] = dictionary[entry];
  int turn = 0;
  for (int page = blockIdx.x; page < pages; page += gridDim.x) {
    const long long begin = row_starts[page], end = row_starts[page + 1];
    const long long codes_begin = code_starts[page], codes_end = code_starts[page + 1];
    long long next = codes_begin;
    if (threadIdx.x == 0)
      misses = 0;
    for (long long first = begin; first < end; first += BLOCK * ITEMS) {
      const long long mine = first + warp * (32 * ITEMS) + lane;
      unsigned those[ITEMS];
      int count = 0;
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) {
        const long long row = mine + k * 32;
        those[k] = __ballot_sync(0xffffffffu, row < end && levels[row] == level);
        count += __popc(those[k]);
      }
      if (lane == 0)
        counts[turn][warp] = count;
      __syncthreads();
      long long place = next;
#pragma unroll
      for (int w = 0; w < WARPS; ++w) {
        if (w < warp)
          place += counts[turn][w];
        next += counts[turn][w];
      }
      int bad = 0;
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) {
        const long long row = mine + k * 32;
        const long long at = place + __popc(those[k] & ((1u << lane) - 1u));
        place += __popc(those[k]);
        bool is_wrong = false;
        if (row < end) {
          long long value = null_value;
          if (those[k] >> lane & 1u) {
            value = wrong_value;
            is_wrong = true;
            if (at < codes_end) {
              const unsigned code = code_at(words, at * width, width);
              if (code < static_cast<unsigned>(entries)) {
                value = code < static_cast<unsigned>(HELD) ? held[code] : dictionary[code];
                is_wrong = false;
              }
            }
          }
          out[row] = value;
        }
        bad += __popc(__ballot_sync(0xffffffffu, is_wrong));
      }
      if (lane == 0 && bad != 0)
        atomicAdd(&misses, bad);
      if constexpr (TURNS == 1)
        __syncthreads();
      else
        turn ^= 1;
    }
    if constexpr (TURNS == 2)
      __syncthreads();
    if (threadIdx.x == 0)
      wrong[page] = misses;
  }
}
