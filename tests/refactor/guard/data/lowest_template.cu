// The lowest number of each slot, kept as an integer whose order is that of the numbers; what is behind no slot counts nowhere.
template <int BLOCK, int VEC>
__global__ void lowest_kernel(int* lowest, const float* __restrict__ x, const int* __restrict__ index, const int n, const int slots) {
  for (int first = (blockIdx.x * BLOCK + threadIdx.x) * VEC; first < n; first += gridDim.x * BLOCK * VEC)
    for (int v = 0; v < VEC; ++v) {
      const int i = first + v;
      if (i >= n)
        break;
      const int slot = index[i];
      if (slot < 0 || slot >= slots)
        continue;
      const int bits = __float_as_int(x[i]);
      atomicMin(&lowest[slot], bits < 0 ? bits ^ 0x7fffffff : bits);
    }
}
