// Sorts every row of integers by counting what comes before each: equal ones keep their order. A block a row, which
// brings the row in tiles to shared memory.
template <int BLOCK, int TILE>
__global__ void ranks_kernel(int* __restrict__ sorted, int* __restrict__ where, const int* __restrict__ keys, const int n) {
  __shared__ int tile[BLOCK * TILE];
  const int* row = keys + static_cast<long long>(blockIdx.x) * n;
  for (int start = 0; start < n; start += BLOCK) {
    const int i = start + threadIdx.x;
    const int own = i < n ? row[i] : 0;
    int rank = 0;
    for (int base = 0; base < n; base += BLOCK * TILE) {
      const int held = min(BLOCK * TILE, n - base);
      __syncthreads();
      for (int t = threadIdx.x; t < held; t += BLOCK)
        tile[t] = row[base + t];
      __syncthreads();
      for (int t = 0; t < held; ++t)
        rank += tile[t] < own || (tile[t] == own && base + t < i);
    }
    if (i < n) {
      sorted[static_cast<long long>(blockIdx.x) * n + rank] = own;
      where[static_cast<long long>(blockIdx.x) * n + rank] = i;
    }
  }
}
