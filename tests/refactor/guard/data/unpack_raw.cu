// Numbers of `width` bits that lie one behind the other in a row's words, as scaled numbers around zero.
__global__ void unpack_kernel(float* __restrict__ y, const unsigned* __restrict__ words, const float* __restrict__ scales,
                              const int n, const int width, const int words_a_row) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n)
    return;
  const unsigned* row = words + static_cast<long long>(blockIdx.y) * words_a_row;
  const int bit = i * width, word = bit / 32, shift = bit % 32;
  unsigned code = row[word] >> shift;
  if (shift + width > 32)
    code |= row[word + 1] << (32 - shift);
  code &= (1u << width) - 1;
  y[static_cast<long long>(blockIdx.y) * n + i] =
      static_cast<float>(static_cast<int>(code) - (1 << (width - 1))) * scales[blockIdx.y];
}
