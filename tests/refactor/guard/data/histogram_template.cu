// Counts how often each of 64 values occurs; every block counts in shared memory and adds up at the end.
constexpr int BINS = 64;

template <int BLOCK, int COPIES>
__global__ void __launch_bounds__(BLOCK) histogram_kernel(int* __restrict__ counts, const int* __restrict__ values, const int count) {
  __shared__ int local[COPIES][BINS];
  for (int bin = threadIdx.x; bin < COPIES * BINS; bin += BLOCK)
    local[bin / BINS][bin % BINS] = 0;
  __syncthreads();
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < count; i += gridDim.x * BLOCK)
    atomicAdd(&local[threadIdx.x % COPIES][values[i]], 1);
  __syncthreads();
  for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) {
    int sum = 0;
    for (int copy = 0; copy < COPIES; ++copy)
      sum += local[copy][bin];
    atomicAdd(&counts[bin], sum);
  }
}
