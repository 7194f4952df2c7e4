// Orientation of pairs of points, and how far each pair is apart. Products are rounded each for itself, so that
// parallel pairs have none.
__global__ void orient_kernel(const float* __restrict__ px, const float* __restrict__ py,
                              const float* __restrict__ qx, const float* __restrict__ qy,
                              float* __restrict__ side, float* __restrict__ length, const int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    side[i] = __fsub_rn(__fmul_rn(px[i], qy[i]), __fmul_rn(py[i], qx[i]));
    length[i] = hypotf(px[i], qy[i]);
  }
}
