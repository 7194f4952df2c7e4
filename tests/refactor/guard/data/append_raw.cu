// Values above a limit and where they stood, appended in no order; counts holds how many there are.
__global__ void append_kernel(float* __restrict__ values, int* __restrict__ places, int* __restrict__ counts, const float* __restrict__ x, const int n, const int room, const float limit) {
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) {
    const float value = x[i];
    if (value > limit) {
      const int at = atomicAdd(counts, 1);
      if (at < room) {
        values[at] = value;
        places[at] = i;
      }
    }
  }
}
