// How many numbers of a row are infinite or none, and the weights of those that are none, a warp a row.
__global__ void finite_kernel(int* __restrict__ out, const float* __restrict__ x, const int* __restrict__ weights,
                              const int rows, const int cols) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  int odd = 0, weight = 0;
  if (row < rows)
    for (int c = lane; c < cols; c += 32) {
      const float value = x[static_cast<long long>(row) * cols + c];
      if (!isfinite(value))
        ++odd;
      if (isnan(value))
        weight += weights[c];
    }
  for (int offset = 16; offset > 0; offset /= 2) {
    odd += __shfl_xor_sync(0xffffffffu, odd, offset);
    weight += __shfl_xor_sync(0xffffffffu, weight, offset);
  }
  if (row < rows && lane == 0) {
    out[2 * row] = odd;
    out[2 * row + 1] = weight;
  }
}
