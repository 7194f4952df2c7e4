// Of each row the first place at which the weights so far come to more than what was drawn; -1 where they never do.
__global__ void pick_kernel(int* __restrict__ picked, const unsigned* __restrict__ weights, const unsigned* __restrict__ draws, const int rows, const int width) {
  __shared__ unsigned long long sums[4];
  __shared__ int place;
  const int row = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned* mine = weights + static_cast<long long>(row) * width;
  const unsigned long long drawn = draws[row];
  unsigned long long before = 0;
  if (threadIdx.x == 0)
    place = -1;
  for (int begin = 0; begin < width; begin += 128) {
    const int i = begin + threadIdx.x;
    const unsigned long long own = i < width ? mine[i] : 0;
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
    for (int w = 0; w < 4; ++w) {
      if (w < warp)
        sum += sums[w];
      all += sums[w];
    }
    if (before + sum > drawn && before + sum - own <= drawn && i < width)
      place = i;
    before += all;
    __syncthreads();
    if (place >= 0)
      break;
  }
  if (threadIdx.x == 0)
    picked[row] = place;
}
