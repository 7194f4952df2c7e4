// Gathers columns in every layer, where the page table says, with a cache policy.
template <typename T, int CACHE>
__global__ void pages_kernel(T* __restrict__ out, const T* __restrict__ in, const int* __restrict__ pages,
                             const int count, const long long first, const long long layers) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) {
    const int page = CACHE == 0 ? pages[index] : __ldg(pages + index);
    for (long long layer = first; layer < first + layers; ++layer) {
      out[layer * count + index] = in[layer * count + page];
    }
  }
}
