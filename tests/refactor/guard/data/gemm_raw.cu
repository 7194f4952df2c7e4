// c = a * b, one tile of c a block, tiles of a and b through shared memory.
constexpr int TILE = 16;

__global__ void gemm_kernel(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, const int m,
                            const int n, const int k) {
  __shared__ float tile_a[TILE][TILE];
  __shared__ float tile_b[TILE][TILE + 1];
  const int row = blockIdx.y * TILE + threadIdx.y;
  const int column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.f;
  for (int first = 0; first < k; first += TILE) {
    tile_a[threadIdx.y][threadIdx.x] =
        row < m && first + threadIdx.x < k ? a[static_cast<long long>(row) * k + first + threadIdx.x] : 0.f;
    tile_b[threadIdx.y][threadIdx.x] =
        column < n && first + threadIdx.y < k ? b[static_cast<long long>(first + threadIdx.y) * n + column] : 0.f;
    __syncthreads();
    for (int i = 0; i < TILE; ++i)
      sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[static_cast<long long>(row) * n + column] = sum;
}
