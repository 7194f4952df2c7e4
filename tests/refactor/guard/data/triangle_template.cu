// What lies on or below a diagonal of every row stays, the rest is zero.
template <int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) triangle_kernel(float* __restrict__ out, const float* __restrict__ in, const int rows, const int columns, const int diagonal) {
  const int first = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS, r = blockIdx.y;
  const int kept = r + diagonal + 1;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    const int c = first + k;
    const long long i = static_cast<long long>(r) * columns + c;
    if (c < columns)
      out[i] = c < kept ? in[i] : 0.f;
  }
}
