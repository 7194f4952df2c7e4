// Sorts every row of integers by counting what comes before each: equal ones keep their order. A block a row.
__global__ void ranks_kernel(int* __restrict__ sorted, int* __restrict__ where, const int* __restrict__ keys, const int n) {
  const int* row = keys + static_cast<long long>(blockIdx.x) * n;
  for (int i = threadIdx.x; i < n; i += 128) {
    const int own = row[i];
    int rank = 0;
    for (int j = 0; j < n; ++j)
      rank += row[j] < own || (row[j] == own && j < i);
    sorted[static_cast<long long>(blockIdx.x) * n + rank] = own;
    where[static_cast<long long>(blockIdx.x) * n + rank] = i;
  }
}
