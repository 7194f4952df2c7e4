// y = alpha * A * x + beta * y for A in slices of `chunk` rows (sliced ELLPACK): slice s has the columns from starts[s] to starts[s + 1] of a long
// array, each of which holds one element of every row. A row ends with its slice, or where its column is below zero: that is padding, and nothing
// behind it counts. Without beta what y held counts for nothing. A thread a row.
__global__ void __launch_bounds__(128) ellpack_kernel(float* __restrict__ y, const float* __restrict__ values, const int* __restrict__ columns,
                                                      const long long* __restrict__ starts, const float* __restrict__ x, const int rows, const int chunk,
                                                      const float alpha, const float beta) {
  const int row = blockIdx.x * 128 + threadIdx.x;
  if (row >= rows)
    return;
  const int slice = row / chunk, place = row % chunk;
  const long long end = starts[slice + 1];
  float sum = 0.f;
  for (long long k = starts[slice]; k < end; ++k) {
    const long long at = k * chunk + place;
    const int column = columns[at];
    if (column < 0)
      break;
    sum = fmaf(values[at], x[column], sum);
  }
  const float product = alpha * sum;
  y[row] = beta != 0.f ? fmaf(beta, y[row], product) : product;
}
