// The gradient of a normalised row with respect to its input: two sums over the row, then each element.
template <int WARPS, int ROWS, int UNROLL>
__global__ void gradient_kernel(const float* __restrict__ dy, const float* __restrict__ xhat, const float* __restrict__ gamma, const float* __restrict__ rstd, float* __restrict__ dx, const int rows, const int cols) {
  __shared__ float part1[WARPS], part2[WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int r = 0; r < ROWS; ++r) {
    const int row = blockIdx.x * ROWS + r;
    if (row >= rows)
      return;
    const long long base = static_cast<long long>(row) * cols;
    float a = 0.f, b = 0.f;
#pragma unroll UNROLL
    for (int i = threadIdx.x; i < cols; i += WARPS * 32) {
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
    a = part1[0];
    b = part2[0];
#pragma unroll
    for (int other = 1; other < WARPS; ++other) {
      a += part1[other];
      b += part2[other];
    }
    a /= cols;
    b /= cols;
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += WARPS * 32)
      dx[base + i] = (dy[base + i] * gamma[i] - a - xhat[base + i] * b) * rstd[row];
  }
}
