// Mean over the first lengths[b] tokens of each sequence; zeros for an empty one.
template <int BLOCK, int UNROLL>
__global__ void pool_kernel(float* out, const float* in, const int* lengths, const int most, const int width) {
  const int c = blockIdx.y * BLOCK + threadIdx.x;
  if (c >= width)
    return;
  const int length = lengths[blockIdx.x];
  const float* x = in + static_cast<long long>(blockIdx.x) * most * width + c;
  float sum = 0.f;
#pragma unroll UNROLL
  for (int t = 0; t < length; ++t)
    sum += x[t * width];
  out[blockIdx.x * width + c] = length > 0 ? sum / static_cast<float>(length) : 0.f;
}
