#ifndef HEIGHT
#define HEIGHT 8192
#endif
#ifndef WIDTH
#define WIDTH 16384
#endif

__global__ void plane_kernel(float* __restrict__ after, const float* __restrict__ before, float share) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= WIDTH)
    return;
  const float* row = before + y * WIDTH;
  const float left = row[x > 0 ? x - 1 : x], right = row[x + 1 < WIDTH ? x + 1 : x];
  const float above = y > 0 ? row[x - WIDTH] : 0.f, below = y + 1 < HEIGHT ? row[x + WIDTH] : 0.f;
  after[y * WIDTH + x] = row[x] + share * (left + right + above + below - 4.f * row[x]);
}
