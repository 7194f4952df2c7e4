// Sums of what a mask admits in every row, a block a row; tiles of which nothing is admitted are passed over.
template <int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) admitted_kernel(float* __restrict__ sums, const float* __restrict__ x, const unsigned char* __restrict__ mask, const int columns) {
  __shared__ float part[BLOCK / 32];
  const long long begin = static_cast<long long>(blockIdx.x) * columns;
  float sum = 0.f;
  for (int base = 0; base < columns; base += BLOCK * ITEMS) {
    bool is_admitted[ITEMS], any = false;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      const int c = base + k * BLOCK + threadIdx.x;
      is_admitted[k] = c < columns && mask[begin + c] != 0;
      any |= is_admitted[k];
    }
    if (!__syncthreads_or(any))
      continue;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k)
      if (is_admitted[k])
        sum += x[begin + base + k * BLOCK + threadIdx.x];
  }
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.f;
    for (int w = 0; w < BLOCK / 32; ++w)
      total += part[w];
    sums[blockIdx.x] = total;
  }
}
