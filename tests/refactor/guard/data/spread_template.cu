// Weighted sums over five places that lie `step` apart, in every row; places outside count as zero. A block has its
// places in shared memory where they are close enough together.
template <int BLOCK, int HALO>
__global__ void __launch_bounds__(BLOCK) spread_kernel(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ weights, const int columns, const int step) {
  __shared__ float tile[BLOCK + 2 * HALO];
  const int c = blockIdx.x * BLOCK + threadIdx.x;
  const long long begin = static_cast<long long>(blockIdx.y) * columns;
  const bool is_close = step <= HALO / 2 && -step <= HALO / 2;
  if (is_close) {
    for (int t = threadIdx.x; t < BLOCK + 2 * HALO; t += BLOCK) {
      const int at = blockIdx.x * BLOCK + t - HALO;
      tile[t] = at >= 0 && at < columns ? in[begin + at] : 0.f;
    }
    __syncthreads();
  }
  if (c >= columns)
    return;
  float sum = 0.f;
  for (int k = -2; k <= 2; ++k) {
    const int at = c + k * step;
    if (at >= 0 && at < columns)
      sum += weights[k + 2] * (is_close ? tile[threadIdx.x + HALO + k * step] : in[begin + at]);
  }
  out[begin + c] = sum;
}
