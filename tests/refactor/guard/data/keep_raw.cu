// Keeps the elements above a limit, in no order: their values, where they were, and how many there are.
__global__ void keep_kernel(const float* __restrict__ in, float* __restrict__ values, int* __restrict__ places,
                            int* __restrict__ counter, const int count, const float limit) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const float x = in[i];
    if (x > limit) {
      const int slot = atomicAdd(counter, 1);
      values[slot] = x;
      places[slot] = i;
    }
  }
}
