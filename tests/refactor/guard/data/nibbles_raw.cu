// Weights of four bits, eight a word, less their group's zero and times its scale.
__global__ void nibbles_kernel(float* __restrict__ out, const unsigned* __restrict__ words, const float* __restrict__ scales, const int* __restrict__ zeros, const int cols,
                               const int group) {
  const int c = blockIdx.x * 128 + threadIdx.x, row = blockIdx.y;
  if (c >= cols)
    return;
  const int groups = (cols + group - 1) / group, g = row * groups + c / group;
  const int level = words[row * ((cols + 7) / 8) + c / 8] >> (4 * (c % 8)) & 15;
  out[row * cols + c] = static_cast<float>(level - zeros[g]) * scales[g];
}
