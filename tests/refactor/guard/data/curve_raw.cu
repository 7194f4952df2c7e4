// A curve of straight pieces over places that rise: constant outside of them, and NaN stays NaN.
__global__ void curve_kernel(const float* __restrict__ x, const float* __restrict__ places, const float* __restrict__ heights, float* __restrict__ out, const long long n, const int knots) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  int low = 0, high = knots - 1;
  if (v < places[0]) { out[i] = heights[0]; return; }
  if (v >= places[high]) { out[i] = heights[high]; return; }
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (v < places[middle]) high = middle; else low = middle;
  }
  const float t = (v - places[low]) / (places[low + 1] - places[low]);
  out[i] = heights[low] + t * (heights[low + 1] - heights[low]);
}
