// Adler-32 of messages that lie behind each other, ROWS messages a warp.
template <int WARPS, int ROWS, int UNROLL>
__global__ void adler_kernel(unsigned* __restrict__ out, const unsigned char* __restrict__ text, const int* __restrict__ starts, const int messages) {
  const int lane = threadIdx.x;
  for (int r = 0; r < ROWS; ++r) {
    const int message = (blockIdx.x * WARPS + threadIdx.y) * ROWS + r;
    if (message >= messages)
      return;
    const int begin = starts[message], n = starts[message + 1] - begin;
    unsigned a = 0, b = 0;
#pragma unroll UNROLL
    for (int i = lane; i < n; i += 32) {
      const unsigned value = text[begin + i];
      a = (a + value) % 65521u;
      b = (b + static_cast<unsigned>(n - i) % 65521u * value) % 65521u;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      a += __shfl_xor_sync(0xffffffffu, a, offset);
      b += __shfl_xor_sync(0xffffffffu, b, offset);
    }
    if (lane == 0)
      out[message] = (b + static_cast<unsigned>(n)) % 65521u << 16 | (a + 1u) % 65521u;
  }
}
