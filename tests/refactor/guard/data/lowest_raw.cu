// The lowest number of each slot, kept as an integer whose order is that of the numbers; what is behind no slot counts nowhere.
__global__ void lowest_kernel(int* lowest, const float* __restrict__ x, const int* __restrict__ index, const int n, const int slots) {
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) {
    const int slot = index[i];
    if (slot < 0 || slot >= slots)
      continue;
    const int bits = __float_as_int(x[i]);
    atomicMin(&lowest[slot], bits < 0 ? bits ^ 0x7fffffff : bits);
  }
}
