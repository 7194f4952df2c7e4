// How many of the first `bits` bits differ between every code of `a` and every code of `b`; words of 32 bits.
__global__ void hamming_kernel(int* __restrict__ out, const unsigned* __restrict__ a, const unsigned* __restrict__ b, const int rows, const int others, const int bits) {
  const int other = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= rows || other >= others)
    return;
  const int words = (bits + 31) / 32;
  int sum = 0;
  for (int w = 0; w < words; ++w) {
    unsigned differ = a[static_cast<long long>(row) * words + w] ^ b[static_cast<long long>(other) * words + w];
    if (w == words - 1 && bits % 32 != 0)
      differ &= (1u << bits % 32) - 1;
    sum += __popc(differ);
  }
  out[static_cast<long long>(row) * others + other] = sum;
}
