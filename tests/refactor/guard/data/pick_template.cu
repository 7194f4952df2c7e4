// Of each row the first place at which the weights so far come to more than what was drawn. ITEMS weights a thread, ROWS rows a block.
template <int BLOCK, int ITEMS, int ROWS>
__global__ void pick_kernel(int* __restrict__ picked, const unsigned* __restrict__ weights, const unsigned* __restrict__ draws, const int rows, const int width) {
  constexpr int WARPS = BLOCK / 32;
  __shared__ unsigned long long sums[WARPS];
  __shared__ int place;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int r = 0; r < ROWS; ++r) {
    const int row = blockIdx.x * ROWS + r;
    if (row >= rows)
      return;
    const unsigned* mine = weights + static_cast<long long>(row) * width;
    const unsigned long long drawn = draws[row];
    unsigned long long before = 0;
    if (threadIdx.x == 0)
      place = -1;
    for (int begin = 0; begin < width; begin += BLOCK * ITEMS) {
      const int first = begin + threadIdx.x * ITEMS;
      unsigned long long own = 0;
#pragma unroll
      for (int k = 0; k < ITEMS; ++k)
        if (first + k < width)
          own += mine[first + k];
      unsigned long long sum = own;
      for (int d = 1; d < 32; d *= 2) {
        const unsigned long long other = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d)
          sum += other;
      }
      if (lane == 31)
        sums[warp] = sum;
      __syncthreads();
      unsigned long long all = 0;
      for (int w = 0; w < WARPS; ++w) {
        if (w < warp)
          sum += sums[w];
        all += sums[w];
      }
      if (before + sum > drawn && before + sum - own <= drawn) {
        unsigned long long so_far = before + sum - own;
        for (int k = 0; k < ITEMS && first + k < width; ++k) {
          so_far += mine[first + k];
          if (so_far > drawn) {
            place = first + k;
            break;
          }
        }
      }
      before += all;
      __syncthreads();
      if (place >= 0)
        break;
    }
    if (threadIdx.x == 0)
      picked[row] = place;
    __syncthreads();
  }
}
