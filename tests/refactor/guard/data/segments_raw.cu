// Mean and least of the first lengths[row] elements of every row, a warp a row; an empty row has zero and infinity.
__global__ void segments_kernel(float* __restrict__ mean, float* __restrict__ low, const float* __restrict__ x, const int* __restrict__ lengths, const int rows, const int most) {
  const int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
  if (row >= rows)
    return;
  const int n = lengths[row];
  float sum = 0.f, least = INFINITY;
  for (int c = lane; c < n; c += 32) {
    const float value = x[static_cast<long long>(row) * most + c];
    sum += value;
    least = fminf(least, value);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    least = fminf(least, __shfl_xor_sync(0xffffffffu, least, offset));
  }
  if (lane == 0) {
    mean[row] = n > 0 ? sum / static_cast<float>(n) : 0.f;
    low[row] = least;
  }
}
