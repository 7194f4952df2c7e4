// Adds products of complex numbers to what is there; the result may lie where a factor does.
template <int BLOCK, int ITEMS>
__global__ void complex_add_kernel(const float2* x, const float2* y, float2* z, const int n) {
  for (int i = blockIdx.x * (BLOCK * ITEMS) + threadIdx.x; i < min(n, (static_cast<int>(blockIdx.x) + 1) * (BLOCK * ITEMS)); i += BLOCK) {
    const float2 a = x[i], b = y[i], old = z[i];
    float2 sum;
    sum.x = a.x * b.x - a.y * b.y + old.x;
    sum.y = a.x * b.y + a.y * b.x + old.y;
    z[i] = sum;
  }
}
