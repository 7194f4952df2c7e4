// out[r, c] = in[r, c] / sqrt(sum_c in[r, c]^2 + eps), one block a row, in place.
__global__ void row_norm_kernel(float* x, const int columns, const float eps) {
  __shared__ float partial[8];
  const int row = blockIdx.x;
  float* data = x + static_cast<long long>(row) * columns;
  float sum = 0.f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    const float value = data[c];
    sum += value * value;
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  float total = 0.f;
#pragma unroll
  for (int warp = 0; warp < 8; ++warp)
    total += partial[warp];
  const float scale = rsqrtf(total + eps);
  for (int c = threadIdx.x; c < columns; c += blockDim.x)
    data[c] = data[c] * scale;
}
