// Copies rows whose groups of eight lie `nb0` apart, rows `nb1`. A row of one group does not need the former.
template <int BLOCK, int FIXED_NE0>
__global__ void strided_kernel(float* __restrict__ out, const float* __restrict__ x, const int n, const int ne0, const int nb0, const int nb1) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n)
    return;
  const int row = i / (FIXED_NE0 == 0 ? ne0 : FIXED_NE0), column = i % (FIXED_NE0 == 0 ? ne0 : FIXED_NE0);
  out[i] = x[static_cast<long long>(row) * nb1 + static_cast<long long>(column / 8) * nb0 + column % 8];
}
