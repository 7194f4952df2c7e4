// How many of the first `bits` bits differ between every code of `a` and every code of `b`; words of 32 bits, WORDS of each code
// of `b` at a time in shared memory.
template <int WIDTH, int HEIGHT, int WORDS>
__global__ void hamming_kernel(int* __restrict__ out, const unsigned* __restrict__ a, const unsigned* __restrict__ b, const int rows, const int others, const int bits) {
  __shared__ unsigned codes[WIDTH][WORDS + 1];
  const int other = blockIdx.x * WIDTH + threadIdx.x, row = blockIdx.y * HEIGHT + threadIdx.y;
  const int words = (bits + 31) / 32;
  int sum = 0;
  for (int first = 0; first < words; first += WORDS) {
    for (int i = threadIdx.y * WIDTH + threadIdx.x; i < WIDTH * WORDS; i += WIDTH * HEIGHT) {
      const int code = blockIdx.x * WIDTH + i / WORDS, w = first + i % WORDS;
      codes[i / WORDS][i % WORDS] = code < others && w < words ? b[static_cast<long long>(code) * words + w] : 0u;
    }
    __syncthreads();
    if (row < rows && other < others)
      for (int w = first; w < min(first + WORDS, words); ++w) {
        unsigned differ = a[static_cast<long long>(row) * words + w] ^ codes[threadIdx.x][w - first];
        if (w == words - 1 && bits % 32 != 0)
          differ &= (1u << bits % 32) - 1;
        sum += __popc(differ);
      }
    __syncthreads();
  }
  if (row < rows && other < others)
    out[static_cast<long long>(row) * others + other] = sum;
}
