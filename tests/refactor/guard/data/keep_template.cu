// Keeps the elements above a limit, in no order: their values, where they were, and how many there are.
template <int BLOCK, int ITEMS>
__global__ void keep_kernel(const float* __restrict__ in, float* __restrict__ values, int* __restrict__ places,
                            int* __restrict__ counter, const int count, const float limit) {
  for (int first = blockIdx.x * BLOCK * ITEMS; first < count; first += gridDim.x * BLOCK * ITEMS) {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int i = first + item * BLOCK + threadIdx.x;
      const float x = i < count ? in[i] : limit;
      if (x > limit) {
        const int slot = atomicAdd(counter, 1);
        values[slot] = x;
        places[slot] = i;
      }
    }
  }
}
