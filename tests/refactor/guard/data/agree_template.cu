// How many tokens of a draft agree with the target's before the first that does not, a block a row.
template <int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) agree_kernel(int* __restrict__ lengths, const int* __restrict__ draft, const int* __restrict__ target, const int most) {
  __shared__ int first;
  if (threadIdx.x == 0)
    first = most;
  __syncthreads();
  const long long begin = static_cast<long long>(blockIdx.x) * most;
  for (int base = 0; base < most; base += BLOCK * ITEMS) {
    int own = most;
#pragma unroll
    for (int k = ITEMS - 1; k >= 0; --k) {
      const int i = base + k * BLOCK + threadIdx.x;
      if (i < most && draft[begin + i] != target[begin + i])
        own = i;
    }
    if (own < most)
      atomicMin(&first, own);
    if (__syncthreads_or(own < most))
      break;
  }
  if (threadIdx.x == 0)
    lengths[blockIdx.x] = first;
}
