// Sorts every 64 numbers by counting what comes before each; a block has them in shared memory. Where one of them is NaN,
// which comes before nothing and behind nothing, several have one place and other places stay as they were.
__global__ void block_sort_kernel(float* __restrict__ sorted, const float* __restrict__ keys, const int n) {
  __shared__ float row[64];
  __shared__ float placed[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  row[threadIdx.x] = i < n ? keys[i] : 3.0e38f;
  __syncthreads();
  const float own = row[threadIdx.x];
  int rank = 0;
  for (int j = 0; j < 64; ++j)
    rank += row[j] < own || (row[j] == own && j < threadIdx.x);
  placed[rank] = own;
  __syncthreads();
  if (i < n)
    sorted[i] = placed[threadIdx.x];
}
