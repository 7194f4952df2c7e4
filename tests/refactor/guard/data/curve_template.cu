// A curve of straight pieces over places that rise: constant outside of them, and NaN stays NaN.
template <int BLOCK, int ITEMS, int HELD>
__global__ void curve_kernel(const float* __restrict__ x, const float* __restrict__ places, const float* __restrict__ heights, float* __restrict__ out, const long long n, const int knots) {
  extern __shared__ float held[];
  if (HELD) {
    for (int k = threadIdx.x; k < knots; k += BLOCK) held[k] = places[k];
    __syncthreads();
  }
  const float* edges = HELD ? held : places;
#pragma unroll 1
  for (int item = 0; item < ITEMS; ++item) {
    const long long i = (static_cast<long long>(blockIdx.x) * ITEMS + item) * BLOCK + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    int low = 0, high = knots - 1;
    if (v < edges[0]) { out[i] = heights[0]; continue; }
    if (v >= edges[high]) { out[i] = heights[high]; continue; }
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      if (v < edges[middle]) high = middle; else low = middle;
    }
    const float t = (v - edges[low]) / (edges[low + 1] - edges[low]);
    out[i] = heights[low] + t * (heights[low + 1] - heights[low]);
  }
}
