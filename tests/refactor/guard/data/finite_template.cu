// How many numbers of a row are infinite or none, and the weights of those that are none, LANES a row.
template <int WARPS, int LANES>
__global__ void finite_kernel(int* __restrict__ out, const float* __restrict__ x, const int* __restrict__ weights,
                              const int rows, const int cols) {
  const int row = blockIdx.x * (WARPS * 32 / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
  int odd = 0, weight = 0;
  if (row < rows)
    for (int c = lane; c < cols; c += LANES) {
      const float value = x[static_cast<long long>(row) * cols + c];
      if (!isfinite(value))
        ++odd;
      if (isnan(value))
        weight += weights[c];
    }
  for (int offset = LANES / 2; offset > 0; offset /= 2) {
    odd += __shfl_xor_sync(0xffffffffu, odd, offset);
    weight += __shfl_xor_sync(0xffffffffu, weight, offset);
  }
  if (row < rows && lane == 0) {
    out[2 * row] = odd;
    out[2 * row + 1] = weight;
  }
}
