// Inclusive prefix sums of every row, one block a row.
template <unsigned BLOCK, int UNROLL>
__global__ void __launch_bounds__(BLOCK) scan_kernel(int* out, const int* in, const int columns) {
  __shared__ int warp_sums[BLOCK / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int carry = 0;
  for (int first = 0; first < columns; first += BLOCK) {
    const int column = first + threadIdx.x;
    int value = column < columns ? in[blockIdx.x * columns + column] : 0;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, value, step);
      if (lane >= step)
        value += other;
    }
    if (lane == 31)
      warp_sums[warp] = value;
    __syncthreads();
    int before = carry;
    for (int w = 0; w < warp; ++w)
      before += warp_sums[w];
    int all = carry;
#pragma unroll UNROLL
    for (unsigned w = 0; w < BLOCK / 32; ++w)
      all += warp_sums[w];
    if (column < columns)
      out[blockIdx.x * columns + column] = value + before;
    carry = all;
    __syncthreads();
  }
}
