// Lower factors of small symmetric matrices, in place, a block a matrix; the place of the first pivot that is not above zero, or 0.
template <int BLOCK, int PAD, int UNROLL>
__global__ void cholesky_kernel(float* __restrict__ matrices, int* __restrict__ info, const int size) {
  extern __shared__ float a[];
  __shared__ int failed;
  const int pitch = size + PAD;
  float* matrix = matrices + static_cast<long long>(blockIdx.x) * size * size;
  if (threadIdx.x == 0) failed = 0;
  for (int i = threadIdx.x; i < size * size; i += BLOCK) a[i / size * pitch + i % size] = matrix[i];
  __syncthreads();
  for (int k = 0; k < size; ++k) {
    if (threadIdx.x == 0) {
      const float pivot = a[k * pitch + k];
      if (!(pivot > 0.f)) failed = k + 1;
      a[k * pitch + k] = sqrtf(pivot);
    }
    __syncthreads();
    if (failed) break;
    for (int i = k + 1 + threadIdx.x; i < size; i += BLOCK) a[i * pitch + k] /= a[k * pitch + k];
    __syncthreads();
    for (int i = k + 1 + threadIdx.x; i < size; i += BLOCK)
#pragma unroll UNROLL
      for (int j = k + 1; j <= i; ++j) a[i * pitch + j] -= a[i * pitch + k] * a[j * pitch + k];
    __syncthreads();
  }
  if (!failed)
    for (int i = threadIdx.x; i < size * size; i += BLOCK)
      if (i % size <= i / size) matrix[i] = a[i / size * pitch + i % size];
  if (threadIdx.x == 0) info[blockIdx.x] = failed;
}
