// Adds products of complex numbers to what is there; the result may lie where a factor does.
__global__ void complex_add_kernel(const float2* x, const float2* y, float2* z, const int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float2 a = x[i], b = y[i], old = z[i];
    float2 sum;
    sum.x = a.x * b.x - a.y * b.y + old.x;
    sum.y = a.x * b.y + a.y * b.x + old.y;
    z[i] = sum;
  }
}
