// How many tokens of a draft agree with the target's before the first that does not, a block a row.
__global__ void agree_kernel(int* __restrict__ lengths, const int* __restrict__ draft, const int* __restrict__ target, const int most) {
  __shared__ int first;
  if (threadIdx.x == 0)
    first = most;
  __syncthreads();
  const long long begin = static_cast<long long>(blockIdx.x) * most;
  for (int base = 0; base < most; base += 128) {
    const int i = base + threadIdx.x;
    const bool differs = i < most && draft[begin + i] != target[begin + i];
    if (differs)
      atomicMin(&first, i);
    if (__syncthreads_or(differs))
      break;
  }
  if (threadIdx.x == 0)
    lengths[blockIdx.x] = first;
}
