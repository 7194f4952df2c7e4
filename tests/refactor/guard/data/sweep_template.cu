// One step of diffusion in three dimensions with a coefficient a cell: a thread goes along DEPTH planes and keeps the cells below, here and above; a
// plane's cells and their border wait in shared memory, in BUFFERS tiles that take turns. Outside of the box everything is ambient.
template <int WIDTH, int HEIGHT, int DEPTH, int BUFFERS>
__global__ void sweep_kernel(float* __restrict__ next, const float* __restrict__ now, const float* __restrict__ rate, const int nx, const int ny, const int nz, const int pitch,
                             const long long plane, const float ambient) {
  __shared__ float tile[BUFFERS][HEIGHT + 2][WIDTH + 2];
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  const int x = blockIdx.x * WIDTH + threadIdx.x;
  const int y = blockIdx.y * HEIGHT + threadIdx.y;
  const int first = blockIdx.z * DEPTH;
  const int last = min(nz, first + DEPTH);
  const bool inside = x < nx && y < ny;
  long long at = static_cast<long long>(first) * plane + static_cast<long long>(y) * pitch + x;
  float below = ambient, here = ambient;
  if (inside) {
    if (first > 0)
      below = now[at - plane];
    here = now[at];
  }
  for (int z = first; z < last; ++z) {
    float(*cells)[WIDTH + 2] = tile[(z - first) % BUFFERS];
    if (BUFFERS == 1)
      __syncthreads();
    if (inside) {
      cells[ty][tx] = here;
      if (threadIdx.x == 0)
        cells[ty][0] = x > 0 ? now[at - 1] : ambient;
      if (threadIdx.x == WIDTH - 1 || x == nx - 1)
        cells[ty][tx + 1] = x + 1 < nx ? now[at + 1] : ambient;
      if (threadIdx.y == 0)
        cells[0][tx] = y > 0 ? now[at - pitch] : ambient;
      if (threadIdx.y == HEIGHT - 1 || y == ny - 1)
        cells[ty + 1][tx] = y + 1 < ny ? now[at + pitch] : ambient;
    }
    __syncthreads();
    if (inside) {
      const float above = z + 1 < nz ? now[at + plane] : ambient;
      const float sum = (cells[ty][tx - 1] + cells[ty][tx + 1]) + (cells[ty - 1][tx] + cells[ty + 1][tx]) + (below + above);
      next[at] = here + rate[at] * (sum - 6.f * here);
      below = here;
      here = above;
    }
    at += plane;
  }
}
