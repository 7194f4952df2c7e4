// c = a * b, one tile of c a block, tiles of a and b through shared memory.

template <int TILE, int DEPTH, int UNROLL>
__global__ void gemm_kernel(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, const int m,
                            const int n, const int k) {
  __shared__ float tile_a[TILE][DEPTH];
  __shared__ float tile_b[DEPTH][TILE + 1];
  const int row = blockIdx.y * TILE + threadIdx.y;
  const int column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.f;
  for (int first = 0; first < k; first += DEPTH) {
    for (int i = threadIdx.x; i < DEPTH; i += TILE)
      tile_a[threadIdx.y][i] = row < m && first + i < k ? a[static_cast<long long>(row) * k + first + i] : 0.f;
    for (int i = threadIdx.y; i < DEPTH; i += TILE)
      tile_b[i][threadIdx.x] = column < n && first + i < k ? b[static_cast<long long>(first + i) * n + column] : 0.f;
    __syncthreads();
#pragma unroll UNROLL
    for (int i = 0; i < DEPTH; ++i)
      sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[static_cast<long long>(row) * n + column] = sum;
}
