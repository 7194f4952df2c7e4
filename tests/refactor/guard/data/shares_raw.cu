// exp(x) of every column over the column's sum, a thread a column; `shares` is also where the exponentials wait.
__global__ void shares_kernel(const float* x, float* shares, const int rows, const int columns) {
  const int column = blockIdx.x * 128 + threadIdx.x;
  if (column >= columns)
    return;
  float top = x[column];
  for (int row = 1; row < rows; ++row)
    top = fmaxf(top, x[row * columns + column]);
  float sum = 0.f;
  for (int row = 0; row < rows; ++row) {
    const float power = expf(x[row * columns + column] - top);
    shares[row * columns + column] = power;
    sum += power;
  }
  for (int row = 0; row < rows; ++row)
    shares[row * columns + column] /= sum;
}
