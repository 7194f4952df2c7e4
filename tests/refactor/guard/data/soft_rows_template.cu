// exp(x) of every row over its sum, in one pass over the row for maximum and sum; rows lie `pitch` apart.
template <int WARPS>
__global__ void soft_rows_kernel(const float* __restrict__ x, float* __restrict__ out, const int columns, const int pitch) {
  __shared__ float tops[WARPS], sums[WARPS];
  const float* in = x + static_cast<long long>(blockIdx.x) * pitch;
  float* row = out + static_cast<long long>(blockIdx.x) * pitch;
  float top = -1e30f, sum = 0.f;
  for (int i = threadIdx.x; i < columns; i += WARPS * 32) {
    const float value = in[i];
    const float higher = fmaxf(top, value);
    sum = sum * expf(top - higher) + expf(value - higher);
    top = higher;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, top, offset), rest = __shfl_xor_sync(0xffffffffu, sum, offset);
    const float higher = fmaxf(top, other);
    sum = sum * expf(top - higher) + rest * expf(other - higher);
    top = higher;
  }
  if (threadIdx.x % 32 == 0) {
    tops[threadIdx.x / 32] = top;
    sums[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  top = tops[0];
  sum = sums[0];
  for (int w = 1; w < WARPS; ++w) {
    const float higher = fmaxf(top, tops[w]);
    sum = sum * expf(top - higher) + sums[w] * expf(tops[w] - higher);
    top = higher;
  }
  for (int i = threadIdx.x; i < columns; i += WARPS * 32)
    row[i] = expf(in[i] - top) / sum;
}
