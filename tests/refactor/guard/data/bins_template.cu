// Counts how many numbers fall into each of so many steps from `low` on; what lies outside counts in the outermost.
// Warps count in COPIES places in turn.
template <int BLOCK, int COPIES>
__global__ void bins_kernel(int* counts, const float* __restrict__ x, const int n, const int bins, const float low, const float step) {
  extern __shared__ int held[];
  for (int b = threadIdx.x; b < COPIES * bins; b += BLOCK)
    held[b] = 0;
  __syncthreads();
  int* const own = held + threadIdx.x / 32 % COPIES * bins;
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
    const int b = static_cast<int>(floorf((x[i] - low) * step));
    atomicAdd(&own[min(max(b, 0), bins - 1)], 1);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += BLOCK) {
    int count = 0;
    for (int copy = 0; copy < COPIES; ++copy)
      count += held[copy * bins + b];
    if (count > 0)
      atomicAdd(&counts[b], count);
  }
}
