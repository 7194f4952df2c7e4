// Values above a limit and where they stood, appended in no order; counts holds how many there are.
template <int BLOCK, int ITEMS, int UNROLL>
__global__ void append_kernel(float* __restrict__ values, int* __restrict__ places, int* __restrict__ counts, const float* __restrict__ x, const int n, const int room, const float limit) {
#pragma unroll UNROLL
  for (int first = blockIdx.x * BLOCK * ITEMS; first < n; first += gridDim.x * BLOCK * ITEMS)
    for (int k = 0; k < ITEMS; ++k) {
      const int i = first + k * BLOCK + threadIdx.x;
      const float value = i < n ? x[i] : 0.f;
      if (i < n && value > limit) {
        const int at = atomicAdd(counts, 1);
        if (at < room) {
          values[at] = value;
          places[at] = i;
        }
      }
    }
}
