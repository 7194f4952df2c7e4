// Each tile of 64 backwards: the first warp brings it, the second takes it away. They wait for each other at
// barriers in different lines.
__global__ void handover_kernel(const float* in, float* out, const int tiles) {
  __shared__ float tile[64];
  const int lane = threadIdx.x % 32;
  const int first = blockIdx.x * 64;
  if (threadIdx.x < 32) {
    for (int i = 0; i < 2; ++i)
      tile[i * 32 + lane] = in[first + i * 32 + lane];
    __syncthreads();
    return;
  }
  __syncthreads();
  for (int i = 0; i < 2; ++i)
    out[first + i * 32 + lane] = tile[63 - i * 32 - lane];
}
