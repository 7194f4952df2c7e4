// y = alpha * A * x + beta * y, A by its rows' elements; without beta what y held counts for nothing. LANES a row.
template <int BLOCK, int LANES>
__global__ void csr_kernel(float* __restrict__ y, const int* __restrict__ starts, const int* __restrict__ columns, const float* __restrict__ values,
                           const float* __restrict__ x, const int rows, const float alpha, const float beta) {
  const int row = blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const bool is_row = row < rows;
  float sum = 0.f;
  if (is_row)
    for (int i = starts[row] + lane; i < starts[row + 1]; i += LANES)
      sum += values[i] * x[columns[i]];
  for (int d = LANES / 2; d > 0; d /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, d, LANES);
  if (is_row && lane == 0)
    y[row] = beta == 0.f ? alpha * sum : alpha * sum + beta * y[row];
}
