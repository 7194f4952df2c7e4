// y = a * x, a thread a row; x comes in tiles to shared memory, STAGES of which take turns.
template <int BLOCK, int STAGES>
__global__ void pipe_kernel(float* __restrict__ y, const float* __restrict__ a, const float* __restrict__ x, const int rows, const int columns) {
  __shared__ float tiles[STAGES][BLOCK];
  const int row = blockIdx.x * BLOCK + threadIdx.x;
  float sum = 0.f;
  int turn = 0;
  for (int base = 0; base < columns; base += BLOCK) {
    float* const tile = tiles[turn];
    if (base + threadIdx.x < columns)
      tile[threadIdx.x] = x[base + threadIdx.x];
    __syncthreads();
    if (row < rows)
      for (int j = 0; j < BLOCK && base + j < columns; ++j)
        sum += a[static_cast<long long>(row) * columns + base + j] * tile[j];
    if (STAGES == 1)
      __syncthreads();
    turn = turn + 1 == STAGES ? 0 : turn + 1;
  }
  if (row < rows)
    y[row] = sum;
}
