// Sums since the last mark, a block a row; tiles hand on what their last element has.
template <int BLOCK, int UNROLL>
__global__ void __launch_bounds__(BLOCK) headed_kernel(int* __restrict__ out, const int* __restrict__ x, const unsigned char* __restrict__ marks, const int columns) {
  __shared__ int values[2][BLOCK], begun[2][BLOCK];
  const long long begin = static_cast<long long>(blockIdx.x) * columns;
  int carry = 0;
  for (int base = 0; base < columns; base += BLOCK) {
    const int i = base + threadIdx.x;
    int turn = 0;
    values[0][threadIdx.x] = i < columns ? x[begin + i] : 0;
    begun[0][threadIdx.x] = i < columns && marks[begin + i] != 0;
    __syncthreads();
#pragma unroll UNROLL
    for (int step = 1; step < BLOCK; step *= 2) {
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
    carry = values[turn][BLOCK - 1] + (begun[turn][BLOCK - 1] ? 0 : carry);
    __syncthreads();
  }
}
