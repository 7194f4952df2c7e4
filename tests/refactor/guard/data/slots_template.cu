// Writes ROWS rows a block into pages; a token without a slot (below zero) is left out.
template <int BLOCK, int ROWS>
__global__ void slots_kernel(const float* __restrict__ rows, float* __restrict__ cache,
                             const long long* __restrict__ slots, const int width, const int page_size,
                             const long long page_stride) {
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    const long long token = static_cast<long long>(blockIdx.x) * ROWS + row;
    const long long slot = slots[token];
    if (slot < 0)
      continue;
    const long long page = slot / page_size;
    const long long place = slot % page_size;
    for (int i = threadIdx.x; i < width; i += BLOCK)
      cache[page * page_stride + place * width + i] = rows[token * width + i];
  }
}
