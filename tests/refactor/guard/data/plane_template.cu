#ifndef HEIGHT
#define HEIGHT 8192
#endif
#ifndef WIDTH
#define WIDTH 16384
#endif

// ROWS rows a block: what is below one is the next one's own.
template <int BLOCK, int ROWS>
__global__ void __launch_bounds__(BLOCK) plane_kernel(float* __restrict__ after, const float* __restrict__ before, float share) {
  const int x = blockIdx.x * BLOCK + threadIdx.x, first = blockIdx.y * ROWS;
  if (x >= WIDTH)
    return;
  const int to_left = x > 0 ? -1 : 0, to_right = x + 1 < WIDTH ? 1 : 0;
  const float* row = before + first * WIDTH + x;
  float above = first > 0 ? row[-WIDTH] : 0.f, own = row[0];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int y = first + i;
    if (y >= HEIGHT)
      break;
    const float below = y + 1 < HEIGHT ? row[WIDTH] : 0.f;
    after[y * WIDTH + x] = own + share * (row[to_left] + row[to_right] + above + below - 4.f * own);
    above = own;
    own = below;
    row += WIDTH;
  }
}
