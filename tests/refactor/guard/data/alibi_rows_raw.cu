// Softmax of rows of scores, of which the first lengths[row] count: scaled, with the head's slope times the distance to the last of
// them, and a mask of the row's query where there is one. What does not count, and rows of which nothing is left, are zeros. A block
// a row; scores, masks and results lie their own strides apart.
__device__ __forceinline__ float biased(const float score, const float* added, const float slope, const float scale, const int i, const int last) {
  float value = score * scale + slope * static_cast<float>(i - last);
  if (added != nullptr)
    value += added[i];
  return value;
}

__global__ void alibi_rows_kernel(float* __restrict__ out, const float* __restrict__ scores, const float* __restrict__ mask, const float* __restrict__ slopes,
                                  const int* __restrict__ lengths, const int rows, const int heads, const int queries, const int columns,
                                  const long long in_stride, const long long mask_stride, const long long out_stride, const float scale) {
  __shared__ float parts[4];
  const int row = blockIdx.x;
  if (row >= rows)
    return;
  const int length = min(lengths[row], columns);
  const int last = length - 1;
  const float slope = slopes[row / queries % heads];
  const float* in = scores + row * in_stride;
  const float* added = mask == nullptr ? nullptr : mask + row % queries * mask_stride;
  float* to = out + row * out_stride;

  float top = -INFINITY;
  for (int i = threadIdx.x; i < length; i += 128)
    top = fmaxf(top, biased(in[i], added, slope, scale, i, last));
  for (int offset = 16; offset > 0; offset /= 2)
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
  if (threadIdx.x % 32 == 0)
    parts[threadIdx.x / 32] = top;
  __syncthreads();
  top = parts[0];
  for (int w = 1; w < 4; ++w)
    top = fmaxf(top, parts[w]);
  __syncthreads();

  float sum = 0.f;
  for (int i = threadIdx.x; i < length; i += 128)
    sum += expf(biased(in[i], added, slope, scale, i, last) - top);
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0)
    parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = parts[0];
  for (int w = 1; w < 4; ++w)
    sum += parts[w];

  for (int i = threadIdx.x; i < columns; i += 128) {
    float value = 0.f;
    if (i < length && top != -INFINITY)
      value = expf(biased(in[i], added, slope, scale, i, last) - top) / sum;
    to[i] = value;
  }
}
