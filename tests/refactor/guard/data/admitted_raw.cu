// Sums of what a mask admits in every row, a block a row; tiles of which nothing is admitted are passed over.
__global__ void admitted_kernel(float* __restrict__ sums, const float* __restrict__ x, const unsigned char* __restrict__ mask, const int columns) {
  __shared__ float part[4];
  const long long begin = static_cast<long long>(blockIdx.x) * columns;
  float sum = 0.f;
  for (int base = 0; base < columns; base += 128) {
    const int c = base + threadIdx.x;
    const bool is_admitted = c < columns && mask[begin + c] != 0;
    if (!__syncthreads_or(is_admitted))
      continue;
    if (is_admitted)
      sum += x[begin + c];
  }
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.f;
    for (int w = 0; w < 4; ++w)
      total += part[w];
    sums[blockIdx.x] = total;
  }
}
