// Counts how often each of 64 values occurs; every block counts in shared memory and adds up at the end.
constexpr int BINS = 64;

__global__ void histogram_kernel(int* __restrict__ counts, const int* __restrict__ values, const int count) {
  __shared__ int local[BINS];
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
    local[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    atomicAdd(&local[values[i]], 1);
  __syncthreads();
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
    atomicAdd(&counts[bin], local[bin]);
}
