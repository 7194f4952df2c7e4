// Scales every row of a matrix by its own factor: VEC elements a thread, numbered in 64 bits.
template <int BLOCK, int VEC>
__global__ void far_kernel(float* __restrict__ out, const float* __restrict__ x, const float* __restrict__ scales,
                           const long long n, const int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * (BLOCK * VEC) + threadIdx.x;
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    const long long i = first + v * BLOCK;
    if (i < n)
      out[i] = x[i] * scales[i / cols];
  }
}
