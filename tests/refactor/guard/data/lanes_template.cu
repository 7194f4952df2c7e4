// The largest number of every row and the first place of it, LANES of a warp a row. No number is never the largest.
template <int WARPS, int LANES>
__global__ void lanes_kernel(float* __restrict__ most, int* __restrict__ place, const float* __restrict__ x, const int rows, const int cols) {
  const int row = blockIdx.x * (WARPS * 32 / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
  float best = -INFINITY;
  int at = cols;
  if (row < rows)
    for (int c = lane; c < cols; c += LANES) {
      const float value = x[static_cast<long long>(row) * cols + c];
      if (value > best || (value == best && c < at)) {
        best = value;
        at = c;
      }
    }
  for (int offset = LANES / 2; offset > 0; offset /= 2) {
    const float value = __shfl_xor_sync(0xffffffffu, best, offset);
    const int c = __shfl_xor_sync(0xffffffffu, at, offset);
    if (value > best || (value == best && c < at)) {
      best = value;
      at = c;
    }
  }
  if (row < rows && lane == 0) {
    most[row] = best;
    place[row] = at;
  }
}
