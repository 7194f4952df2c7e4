// Softmax of rows of scores that may be -infinity (masked); a row that is masked whole gives zeros.
__global__ void masked_kernel(float* out, const float* scores, const int rows, const int columns) {
  const int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
  if (row >= rows)
    return;
  const float4* in = reinterpret_cast<const float4*>(scores + static_cast<long long>(row) * columns);
  float4* to = reinterpret_cast<float4*>(out + static_cast<long long>(row) * columns);
  float maximum = -INFINITY, sum = 0.f;
  for (int c = lane; c < columns / 4; c += 32) {
    const float4 x = in[c];
    maximum = fmaxf(maximum, fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)));
  }
  for (int offset = 16; offset > 0; offset /= 2)
    maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, offset));
  const float shift = maximum == -INFINITY ? 0.f : maximum;
  for (int c = lane; c < columns / 4; c += 32) {
    const float4 x = in[c];
    sum += expf(x.x - shift) + expf(x.y - shift) + expf(x.z - shift) + expf(x.w - shift);
  }
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  const float inverse = sum == 0.f ? 0.f : 1.f / sum;
  for (int c = lane; c < columns / 4; c += 32) {
    float4 x = in[c];
    x.x = expf(x.x - shift) * inverse;
    x.y = expf(x.y - shift) * inverse;
    x.z = expf(x.z - shift) * inverse;
    x.w = expf(x.w - shift) * inverse;
    to[c] = x;
  }
}
