// Gathers columns in every layer, where the page table says.
template <typename T>
__global__ void pages_kernel(T* __restrict__ out, const T* __restrict__ in, const int* __restrict__ pages,
                             const int count, const long long first, const long long layers) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) {
    // Read whether there are layers or not; an optimiser may move it under the loop.
    const int page = pages[index];
    for (long long layer = first; layer < first + layers; ++layer) {
      out[layer * count + index] = in[layer * count + page];
    }
  }
}
