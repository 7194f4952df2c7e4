// The k-th largest number of every row by its digits of eight bits, and how many of those equal to it are among the k.
template <int BLOCK, int UNROLL, int DIGIT>
__global__ void kth_kernel(float* __restrict__ threshold, int* __restrict__ ties, const float* __restrict__ x, const int n, const int k) {
  __shared__ int counts[1 << DIGIT];
  __shared__ int found[2];
  const float* row = x + static_cast<long long>(blockIdx.x) * n;
  unsigned prefix = 0, mask = 0;
  int left = k;
  for (int shift = 32 - DIGIT; shift >= 0; shift -= DIGIT) {
    for (int d = threadIdx.x; d < 1 << DIGIT; d += BLOCK)
      counts[d] = 0;
    __syncthreads();
#pragma unroll UNROLL
    for (int i = threadIdx.x; i < n; i += BLOCK) {
      const unsigned bits = __float_as_uint(row[i]);
      const unsigned key = bits ^ (static_cast<unsigned>(static_cast<int>(bits) >> 31) | 0x80000000u);
      if ((key & mask) == prefix)
        atomicAdd(&counts[key >> shift & ((1 << DIGIT) - 1)], 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int digit = (1 << DIGIT) - 1;
      while (digit > 0 && counts[digit] < left)
        left -= counts[digit--];
      found[0] = digit;
      found[1] = left;
    }
    __syncthreads();
    prefix |= static_cast<unsigned>(found[0]) << shift;
    mask |= ((1u << DIGIT) - 1) << shift;
    left = found[1];
  }
  if (threadIdx.x == 0) {
    threshold[blockIdx.x] = __uint_as_float(prefix & 0x80000000u ? prefix ^ 0x80000000u : ~prefix);
    ties[blockIdx.x] = left;
  }
}
