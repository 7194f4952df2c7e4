// y = a * x, a thread a row; x comes in tiles to shared memory.
__global__ void pipe_kernel(float* __restrict__ y, const float* __restrict__ a, const float* __restrict__ x, const int rows, const int columns) {
  __shared__ float tile[128];
  const int row = blockIdx.x * 128 + threadIdx.x;
  float sum = 0.f;
  for (int base = 0; base < columns; base += 128) {
    if (base + threadIdx.x < columns)
      tile[threadIdx.x] = x[base + threadIdx.x];
    __syncthreads();
    if (row < rows)
      for (int j = 0; j < 128 && base + j < columns; ++j)
        sum += a[static_cast<long long>(row) * columns + base + j] * tile[j];
    __syncthreads();
  }
  if (row < rows)
    y[row] = sum;
}
