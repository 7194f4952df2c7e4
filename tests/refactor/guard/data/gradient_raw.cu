// The gradient of a normalised row with respect to its input: two sums over the row, then each element.
__global__ void gradient_kernel(const float* __restrict__ dy, const float* __restrict__ xhat, const float* __restrict__ gamma, const float* __restrict__ rstd, float* __restrict__ dx, const int rows, const int cols) {
  __shared__ float part1[4], part2[4];
  const int row = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const long long base = static_cast<long long>(row) * cols;
  float a = 0.f, b = 0.f;
  for (int i = threadIdx.x; i < cols; i += 128) {
    const float g = dy[base + i] * gamma[i];
    a += g;
    b += g * xhat[base + i];
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    a += __shfl_xor_sync(0xffffffffu, a, offset);
    b += __shfl_xor_sync(0xffffffffu, b, offset);
  }
  if (lane == 0) {
    part1[warp] = a;
    part2[warp] = b;
  }
  __syncthreads();
  a = (part1[0] + part1[1] + part1[2] + part1[3]) / cols;
  b = (part2[0] + part2[1] + part2[2] + part2[3]) / cols;
  for (int i = threadIdx.x; i < cols; i += 128)
    dx[base + i] = (dy[base + i] * gamma[i] - a - xhat[base + i] * b) * rstd[row];
}
