// Puts each element's number into the bin of its key, in no order, where there is room; counts how many want in, and notes
// where each went.
__global__ void sort_bins_kernel(int* __restrict__ members, int* __restrict__ places, int* __restrict__ counts,
                                 const int* __restrict__ keys, const int n, const int bins, const int room) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const int bin = keys[i] % bins;
    const int at = atomicAdd(&counts[bin], 1);
    if (at < room) {
      members[bin * room + at] = i;
      places[i] = bin * room + at;
    } else {
      places[i] = -1;
    }
  }
}
