// A block for each bin: puts the numbers of its rows into the bin, in no order, and notes where each went.
template <int BLOCK, int UNROLL>
__global__ void dealt_kernel(int* __restrict__ rows, int* __restrict__ places, int* __restrict__ filled,
                             const int* __restrict__ bin_of, const int n, const int each) {
  const int bin = blockIdx.x;
#pragma unroll UNROLL
  for (int i = threadIdx.x; i < n; i += BLOCK) {
    if (bin_of[i] % gridDim.x == bin) {
      const int at = atomicAdd(&filled[bin], 1);
      rows[bin * n + at] = i / each;
      places[i] = bin * n + at;
    }
  }
}
