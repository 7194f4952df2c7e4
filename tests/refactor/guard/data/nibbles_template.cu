// Weights of four bits, eight a word, less their group's zero and times its scale: VEC of a word by one thread.
template <int BLOCK, int VEC>
__global__ void nibbles_kernel(float* __restrict__ out, const unsigned* __restrict__ words, const float* __restrict__ scales, const int* __restrict__ zeros, const int cols,
                               const int group) {
  const int first = (blockIdx.x * BLOCK + threadIdx.x) * VEC, row = blockIdx.y;
  if (first >= cols)
    return;
  const int groups = (cols + group - 1) / group;
  const unsigned word = words[row * ((cols + 7) / 8) + first / 8] >> (4 * (first % 8));
#pragma unroll
  for (int j = 0; j < VEC; ++j) {
    const int c = first + j;
    if (c < cols) {
      const int g = row * groups + c / group;
      const int level = word >> (4 * j) & 15;
      out[row * cols + c] = static_cast<float>(level - zeros[g]) * scales[g];
    }
  }
}
