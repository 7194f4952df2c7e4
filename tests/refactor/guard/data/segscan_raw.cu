// Sums since the last head of a segment, inclusive, over the first lengths[row] columns of every row; the rest of a row is zero. A bit a
// column says whether a segment begins there. What a row begins with and what it leaves open are told apart, so that rows may be parts of
// longer ones. Sums wrap round. A block takes its rows in turn, and a row in tiles of 256.
__global__ void __launch_bounds__(256) segscan_kernel(int* __restrict__ out, int* __restrict__ tail, const int* __restrict__ in,
                                                      const unsigned* __restrict__ heads, const int* __restrict__ initial,
                                                      const int* __restrict__ lengths, const int rows, const int columns,
                                                      const long long pitch, const int words) {
  __shared__ unsigned warp_sums[8];
  __shared__ int warp_heads[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const int length = max(min(lengths[row], columns), 0);
    const int* from = in + row * pitch;
    int* to = out + row * pitch;
    const unsigned* marks = heads + row * words;
    unsigned carry = static_cast<unsigned>(initial[row]);
    for (long long first = 0; first < length; first += 256) {
      const long long i = first + threadIdx.x;
      unsigned value = i < length ? static_cast<unsigned>(from[i]) : 0u;
      int head = i < length ? static_cast<int>(marks[i / 32] >> (i % 32) & 1u) : 0;
      for (int step = 1; step < 32; step *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffffu, value, step);
        const int begun = __shfl_up_sync(0xffffffffu, head, step);
        if (lane >= step) {
          value += head ? 0u : other;
          head |= begun;
        }
      }
      if (lane == 31) {
        warp_sums[warp] = value;
        warp_heads[warp] = head;
      }
      __syncthreads();
      unsigned before = carry;
      for (int w = 0; w < warp; ++w)
        before = warp_heads[w] ? warp_sums[w] : before + warp_sums[w];
      unsigned all = before;
      for (int w = warp; w < 8; ++w)
        all = warp_heads[w] ? warp_sums[w] : all + warp_sums[w];
      if (i < length)
        to[i] = static_cast<int>(head ? value : value + before);
      carry = all;
      __syncthreads();
    }
    for (long long i = length + static_cast<long long>(threadIdx.x); i < columns; i += 256)
      to[i] = 0;
    if (threadIdx.x == 0)
      tail[row] = static_cast<int>(carry);
  }
}
