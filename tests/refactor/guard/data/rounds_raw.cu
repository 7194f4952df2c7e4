// How many numbers of each row are above zero: one warp a row.
__global__ void rounds_kernel(const float* __restrict__ x, int* __restrict__ counts, const int rows, const int cols) {
  const int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
  if (row >= rows)
    return;
  const float* in = x + static_cast<long long>(row) * cols;
  int count = 0;
  for (int i = lane; i < cols; i += 32)
    count += in[i] > 0.f;
  for (int offset = 16; offset > 0; offset /= 2)
    count += __shfl_xor_sync(0xffffffffu, count, offset);
  if (lane == 0)
    counts[row] = count;
}
