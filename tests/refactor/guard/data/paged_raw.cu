// Gathers the tokens of sequences from pages of a cache: behind a sequence's length there are zeros.
__global__ void paged_kernel(const float* __restrict__ cache, const int* __restrict__ table,
                             const int* __restrict__ lengths, float* __restrict__ out, const int most_pages,
                             const int page, const int width, const int most_tokens) {
  const int sequence = blockIdx.y;
  const int length = lengths[sequence];
  for (int token = blockIdx.x; token < most_tokens; token += gridDim.x) {
    float* target = out + (static_cast<long long>(sequence) * most_tokens + token) * width;
    if (token < length) {
      const int number = table[sequence * most_pages + token / page];
      const float* source = cache + (static_cast<long long>(number) * page + token % page) * width;
      for (int i = threadIdx.x; i < width; i += blockDim.x)
        target[i] = source[i];
    } else {
      for (int i = threadIdx.x; i < width; i += blockDim.x)
        target[i] = 0.f;
    }
  }
}
