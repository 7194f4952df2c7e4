// Sums of squares of rows. Blocks take the next row from a counter until there is none.
template <int BLOCK, int UNROLL>
__global__ void __launch_bounds__(BLOCK) queue_kernel(float* __restrict__ sums, int* next, const float* __restrict__ x, const int rows, const int columns) {
  __shared__ int taken;
  __shared__ float part[BLOCK / 32];
  while (true) {
    if (threadIdx.x == 0)
      taken = atomicAdd(next, 1);
    __syncthreads();
    const int row = taken;
    if (row >= rows)
      return;
    float sum = 0.f;
#pragma unroll UNROLL
    for (int c = threadIdx.x; c < columns; c += BLOCK) {
      const float value = x[static_cast<long long>(row) * columns + c];
      sum += value * value;
    }
    for (int offset = 16; offset > 0; offset /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0)
      part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      float total = 0.f;
      for (int w = 0; w < BLOCK / 32; ++w)
        total += part[w];
      sums[row] = total;
    }
  }
}
