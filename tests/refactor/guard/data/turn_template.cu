// Turns every row round in its place, VEC elements from either end a thread.
template <int BLOCK, int VEC>
__global__ void turn_kernel(float* x, const int n) {
  const int start = (blockIdx.x * BLOCK + threadIdx.x) * VEC;
  float* row = x + static_cast<long long>(blockIdx.y) * n;
  float front[VEC], back[VEC];
#pragma unroll
  for (int j = 0; j < VEC; ++j)
    if (start + j < n / 2) {
      front[j] = row[start + j];
      back[j] = row[n - 1 - start - j];
    }
#pragma unroll
  for (int j = 0; j < VEC; ++j)
    if (start + j < n / 2) {
      row[start + j] = back[j];
      row[n - 1 - start - j] = front[j];
    }
}
