// Scores through a soft cap; an item is never compared with itself.
__global__ void selfless_kernel(float* out, const float* in, const int columns) {
  const int row = blockIdx.y, column = blockIdx.x * 64 + threadIdx.x;
  if (column >= columns)
    return;
  const long long i = static_cast<long long>(row) * columns + column;
  out[i] = column == row ? -1e9f : tanhf(in[i]);
}
