// One explicit step of diffusion on a grid whose edges meet: right of the last column comes the first, below the last row the first.
constexpr int WIDTH = 32, HEIGHT = 8;

__global__ void torus_kernel(float* __restrict__ next, const float* __restrict__ now, const int rows, const int columns,
                             const float rate) {
  const int x = blockIdx.x * WIDTH + threadIdx.x;
  const int y = blockIdx.y * HEIGHT + threadIdx.y;
  if (x >= columns || y >= rows)
    return;
  const int left = x == 0 ? columns - 1 : x - 1;
  const int right = x == columns - 1 ? 0 : x + 1;
  const int above = y == 0 ? rows - 1 : y - 1;
  const int below = y == rows - 1 ? 0 : y + 1;
  const float here = now[y * columns + x];
  const float across = now[y * columns + left] + now[y * columns + right];
  const float along = now[above * columns + x] + now[below * columns + x];
  next[y * columns + x] = here + rate * (across + along - 4.f * here);
}
