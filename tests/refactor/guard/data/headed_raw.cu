// Sums since the last mark, a block a row; tiles hand on what their last element has.
__global__ void headed_kernel(int* __restrict__ out, const int* __restrict__ x, const unsigned char* __restrict__ marks, const int columns) {
  __shared__ int values[2][256], begun[2][256];
  const long long begin = static_cast<long long>(blockIdx.x) * columns;
  int carry = 0;
  for (int base = 0; base < columns; base += 256) {
    const int i = base + threadIdx.x;
    int turn = 0;
    values[0][threadIdx.x] = i < columns ? x[begin + i] : 0;
    begun[0][threadIdx.x] = i < columns && marks[begin + i] != 0;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
      int value = values[turn][threadIdx.x], has_begun = begun[turn][threadIdx.x];
      if (threadIdx.x >= step) {
        value += has_begun ? 0 : values[turn][threadIdx.x - step];
        has_begun |= begun[turn][threadIdx.x - step];
      }
      turn ^= 1;
      values[turn][threadIdx.x] = value;
      begun[turn][threadIdx.x] = has_begun;
      __syncthreads();
    }
    if (i < columns)
      out[begin + i] = values[turn][threadIdx.x] + (begun[turn][threadIdx.x] ? 0 : carry);
    carry = values[turn][255] + (begun[turn][255] ? 0 : carry);
    __syncthreads();
  }
}
