// Rows divided by their length, a block a row; a row of no length stays.
__global__ void unit_rows_kernel(float* __restrict__ out, float* __restrict__ lengths, const float* __restrict__ x, const int rows, const int width, const float least) {
  __shared__ float partial[4];
  const int row = blockIdx.x;
  const float* source = x + static_cast<long long>(row) * width;
  float sum = 0.f;
  for (int c = threadIdx.x; c < width; c += 128)
    sum += source[c] * source[c];
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = partial[0] + partial[1] + partial[2] + partial[3];
  const float length = sqrtf(sum);
  for (int c = threadIdx.x; c < width; c += 128)
    out[static_cast<long long>(row) * width + c] = length > least ? source[c] / length : source[c];
  if (threadIdx.x == 0)
    lengths[row] = length;
}
