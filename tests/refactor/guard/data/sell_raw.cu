// y = alpha * A * x + beta * y for A in slices of 32 rows (sliced ELLPACK): a slice's elements lie column by column, and is as wide as
// slice_starts says. Row `place` of the slices is row order[place] of A and has row_lengths[place] elements, of which those with a column
// below zero are holes. A thread a row. Without beta what y held counts for nothing.
constexpr int SLICE = 32;

__global__ void __launch_bounds__(128) sell_kernel(float* __restrict__ y, const float* __restrict__ values, const int* __restrict__ columns,
                                                   const int* __restrict__ slice_starts, const int* __restrict__ row_lengths,
                                                   const int* __restrict__ order, const float* __restrict__ x, const int rows,
                                                   const float alpha, const float beta) {
  const int place = blockIdx.x * 128 + threadIdx.x;
  if (place >= rows)
    return;
  const int slice = place / SLICE, lane = place % SLICE;
  const int begin = slice_starts[slice];
  const int length = min(row_lengths[place], slice_starts[slice + 1] - begin);
  const long long base = static_cast<long long>(begin) * SLICE + lane;
  float sum = 0.f;
  for (int k = 0; k < length; ++k) {
    const long long at = base + static_cast<long long>(k) * SLICE;
    const int column = columns[at];
    if (column >= 0)
      sum += values[at] * x[column];
  }
  const int row = order[place];
  y[row] = beta == 0.f ? alpha * sum : alpha * sum + beta * y[row];
}
