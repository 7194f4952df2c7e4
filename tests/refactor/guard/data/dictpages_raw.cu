// Decodes a column that lies in pages: page p has the rows from row_starts[p] to row_starts[p + 1] and the codes from code_starts[p] to
// code_starts[p + 1]. A row has a value where its level is `level`; of these the first has the page's first code, and so on. Codes of `width` bits
// (1 to 32) lie one behind the other in words of 32 bits and are places in a dictionary. A row for which its page has no code left, or whose code is no
// place, is wrong; `wrong` counts those of a page. A block has a page at a time.
__device__ __forceinline__ unsigned code_at(const unsigned* words, const long long bit, const int width) {
  const unsigned* from = words + (bit >> 5);
  return __funnelshift_r(from[0], from[1], static_cast<unsigned>(bit) & 31u) & (0xffffffffu >> (32 - width));
}

__global__ void dictpages_kernel(long long* __restrict__ out, int* __restrict__ wrong, const unsigned char* __restrict__ levels,
                                 const unsigned* __restrict__ words, const long long* __restrict__ dictionary,
                                 const long long* __restrict__ row_starts, const long long* __restrict__ code_starts, const int pages, const int width,
                                 const int entries, const int level, const long long null_value, const long long wrong_value) {
  __shared__ int counts[8];
  __shared__ int misses;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int page = blockIdx.x; page < pages; page += gridDim.x) {
    const long long begin = row_starts[page], end = row_starts[page + 1];
    const long long codes_end = code_starts[page + 1];
    long long next = code_starts[page];
    if (threadIdx.x == 0)
      misses = 0;
    for (long long first = begin; first < end; first += 256) {
      const long long row = first + threadIdx.x;
      const bool has = row < end && levels[row] == level;
      const unsigned those = __ballot_sync(0xffffffffu, has);
      if (lane == 0)
        counts[warp] = __popc(those);
      __syncthreads();
      long long place = next;
      for (int w = 0; w < 8; ++w) {
        if (w < warp)
          place += counts[w];
        next += counts[w];
      }
      place += __popc(those & ((1u << lane) - 1u));
      bool is_wrong = false;
      if (row < end) {
        long long value = null_value;
        if (has) {
          value = wrong_value;
          is_wrong = true;
          if (place < codes_end) {
            const unsigned code = code_at(words, place * width, width);
            if (code < static_cast<unsigned>(entries)) {
              value = dictionary[code];
              is_wrong = false;
            }
          }
        }
        out[row] = value;
      }
      const unsigned bad = __ballot_sync(0xffffffffu, is_wrong);
      if (lane == 0 && bad != 0u)
        atomicAdd(&misses, __popc(bad));
      __syncthreads();
    }
    if (threadIdx.x == 0)
      wrong[page] = misses;
  }
}
