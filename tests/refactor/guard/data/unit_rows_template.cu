// Rows divided by their length, GROUP threads a row; a row of no length stays.
template <int BLOCK, int GROUP, int UNROLL>
__global__ void unit_rows_kernel(float* __restrict__ out, float* __restrict__ lengths, const float* __restrict__ x, const int rows, const int width, const float least) {
  const int row = blockIdx.x * (BLOCK / GROUP) + threadIdx.x / GROUP, lane = threadIdx.x % GROUP;
  const bool is_row = row < rows;
  const float* source = x + static_cast<long long>(is_row ? row : 0) * width;
  float sum = 0.f;
#pragma unroll UNROLL
  for (int c = lane; is_row && c < width; c += GROUP)
    sum += source[c] * source[c];
  for (int offset = GROUP / 2; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  const float length = sqrtf(sum);
  if (!is_row)
    return;
#pragma unroll UNROLL
  for (int c = lane; c < width; c += GROUP)
    out[static_cast<long long>(row) * width + c] = length > least ? source[c] / length : source[c];
  if (lane == 0)
    lengths[row] = length;
}
