// One explicit step of diffusion on a grid whose edges meet: right of the last column comes the first, below the last row the first.
// A tile and its border wait in shared memory; places behind an edge go round.

template <int WIDTH, int HEIGHT, int ROWS>
__global__ void torus_kernel(float* __restrict__ next, const float* __restrict__ now, const int rows, const int columns,
                             const float rate) {
  __shared__ float tile[HEIGHT * ROWS + 2][WIDTH + 2];
  const int first_x = blockIdx.x * WIDTH;
  const int first_y = blockIdx.y * HEIGHT * ROWS;
  for (int i = threadIdx.y * WIDTH + threadIdx.x; i < (HEIGHT * ROWS + 2) * (WIDTH + 2); i += WIDTH * HEIGHT) {
    const int ty = i / (WIDTH + 2);
    const int tx = i % (WIDTH + 2);
    const int y = (first_y + ty + rows - 1) % rows;
    const int x = (first_x + tx + columns - 1) % columns;
    tile[ty][tx] = now[y * columns + x];
  }
  __syncthreads();
  const int x = first_x + threadIdx.x;
  for (int row = 0; row < ROWS; ++row) {
    const int ty = row * HEIGHT + threadIdx.y + 1;
    const int tx = threadIdx.x + 1;
    const int y = first_y + ty - 1;
    if (x < columns && y < rows) {
      const float here = tile[ty][tx];
      const float across = tile[ty][tx - 1] + tile[ty][tx + 1];
      const float along = tile[ty - 1][tx] + tile[ty + 1][tx];
      next[y * columns + x] = here + rate * (across + along - 4.f * here);
    }
  }
}
