// Gives each element above a limit a number, in no order: who has which, and which each has.
__global__ void permute_kernel(int* __restrict__ order, int* __restrict__ numbers, int* __restrict__ counter,
                               const float* __restrict__ x, const int n, const float limit) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  if (x[i] > limit) {
    const int number = atomicAdd(counter, 1);
    order[number] = i;
    numbers[i] = number;
  } else {
    numbers[i] = -1;
  }
}
