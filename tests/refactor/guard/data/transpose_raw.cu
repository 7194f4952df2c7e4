// out[c, r] = in[r, c] through a tile in shared memory, 32 x 8 threads.
constexpr int TILE = 32;
constexpr int STEP = 8;

__global__ void __launch_bounds__(TILE* STEP) transpose_kernel(float* __restrict__ out, const float* __restrict__ in, const int rows,
                                                               const int columns) {
  __shared__ float tile[TILE][TILE + 1];
  const int column = blockIdx.x * TILE + threadIdx.x;
  const int first_row = blockIdx.y * TILE;
  for (int r = threadIdx.y; r < TILE; r += STEP) {
    if (first_row + r < rows && column < columns)
      tile[r][threadIdx.x] = in[(first_row + r) * columns + column];
  }
  __syncthreads();
  const int out_column = first_row + threadIdx.x;
  const int first_out_row = blockIdx.x * TILE;
  for (int r = threadIdx.y; r < TILE; r += STEP) {
    if (first_out_row + r < columns && out_column < rows)
      out[(first_out_row + r) * rows + out_column] = tile[threadIdx.x][r];
  }
}
