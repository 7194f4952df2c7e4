// Writes one row a block into pages; a token without a slot (below zero) is left out.
__global__ void slots_kernel(const float* __restrict__ rows, float* __restrict__ cache,
                             const long long* __restrict__ slots, const int width, const int page_size,
                             const long long page_stride) {
  const long long slot = slots[blockIdx.x];
  if (slot < 0)
    return;
  const long long page = slot / page_size;
  const long long place = slot % page_size;
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    cache[page * page_stride + place * width + i] = rows[static_cast<long long>(blockIdx.x) * width + i];
}
