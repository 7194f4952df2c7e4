// y = alpha * A * x + beta * y, A by its rows' elements; without beta what y held counts for nothing. A warp a row.
__global__ void csr_kernel(float* __restrict__ y, const int* __restrict__ starts, const int* __restrict__ columns, const float* __restrict__ values,
                           const float* __restrict__ x, const int rows, const float alpha, const float beta) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  float sum = 0.f;
  for (int i = starts[row] + lane; i < starts[row + 1]; i += 32)
    sum += values[i] * x[columns[i]];
  for (int d = 16; d > 0; d /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, d, 32);
  if (lane == 0)
    y[row] = beta == 0.f ? alpha * sum : alpha * sum + beta * y[row];
}
