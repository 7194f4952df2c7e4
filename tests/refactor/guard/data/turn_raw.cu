// Turns every row round in its place.
__global__ void turn_kernel(float* x, const int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  float* row = x + static_cast<long long>(blockIdx.y) * n;
  if (i < n / 2) {
    const float first = row[i];
    row[i] = row[n - 1 - i];
    row[n - 1 - i] = first;
  }
}
