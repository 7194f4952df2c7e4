// One step of diffusion in three dimensions with a coefficient a cell: a thread goes along z and keeps the cells below, here and above. Outside of
// the box everything is ambient.
__global__ void sweep_kernel(float* __restrict__ next, const float* __restrict__ now, const float* __restrict__ rate, const int nx, const int ny, const int nz, const int pitch,
                             const long long plane, const float ambient) {
  const int x = blockIdx.x * 32 + threadIdx.x;
  const int y = blockIdx.y * 8 + threadIdx.y;
  if (x >= nx || y >= ny)
    return;
  long long at = static_cast<long long>(y) * pitch + x;
  float below = ambient;
  float here = now[at];
  for (int z = 0; z < nz; ++z) {
    const float above = z + 1 < nz ? now[at + plane] : ambient;
    const float west = x > 0 ? now[at - 1] : ambient;
    const float east = x + 1 < nx ? now[at + 1] : ambient;
    const float south = y > 0 ? now[at - pitch] : ambient;
    const float north = y + 1 < ny ? now[at + pitch] : ambient;
    const float sum = (west + east) + (south + north) + (below + above);
    next[at] = here + rate[at] * (sum - 6.f * here);
    below = here;
    here = above;
    at += plane;
  }
}
