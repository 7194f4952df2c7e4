// What lies on or below a diagonal of every row stays, the rest is zero.
__global__ void triangle_kernel(float* __restrict__ out, const float* __restrict__ in, const int rows, const int columns, const int diagonal) {
  const int c = blockIdx.x * 256 + threadIdx.x, r = blockIdx.y;
  if (c >= columns)
    return;
  const long long i = static_cast<long long>(r) * columns + c;
  out[i] = c <= r + diagonal ? in[i] : 0.f;
}
