// A running mean in place: packs of four where the architecture is new, one element a thread and round else.
template <int BLOCK>
__global__ void mean_kernel(float* __restrict__ mean, const float* __restrict__ x, const int n, const float share) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const int first = (blockIdx.x * BLOCK + threadIdx.x) * 4;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (first + k < n)
      mean[first + k] += share * (x[first + k] - mean[first + k]);
#else
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
    mean[i] += share * (x[i] - mean[i]);
#endif
}
