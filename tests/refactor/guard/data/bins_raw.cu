// Counts how many numbers fall into each of so many steps from `low` on; what lies outside counts in the outermost.
__global__ void bins_kernel(int* counts, const float* __restrict__ x, const int n, const int bins, const float low, const float step) {
  extern __shared__ int held[];
  for (int b = threadIdx.x; b < bins; b += 256)
    held[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    const int b = static_cast<int>(floorf((x[i] - low) * step));
    atomicAdd(&held[min(max(b, 0), bins - 1)], 1);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += 256)
    if (held[b] > 0)
      atomicAdd(&counts[b], held[b]);
}
