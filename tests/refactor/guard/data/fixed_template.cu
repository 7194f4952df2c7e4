// Real numbers as whole numbers of parts.
template <int BLOCK, int ITEMS>
__global__ void fixed_kernel(int* __restrict__ out, const float* __restrict__ x, const int n) {
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const int i = (blockIdx.x * ITEMS + item) * BLOCK + threadIdx.x;
    if (i < n)
      out[i] = __float2int_rn(x[i] * 65536.f);
  }
}
