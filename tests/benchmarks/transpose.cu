// A transpose through shared memory: rows are read and columns written, 32 by 32 at a time.
template <typename T> __global__ void transpose_kernel(T* out, const T* in, int rows, int columns) {
  __shared__ T tile[32][32];
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    if (row + i < rows && column < columns)
      tile[threadIdx.y + i][threadIdx.x] = in[static_cast<long long>(row + i) * columns + column];
  __syncthreads();
  const int out_column = blockIdx.y * 32 + threadIdx.x, out_row = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    if (out_row + i < columns && out_column < rows)
      out[static_cast<long long>(out_row + i) * rows + out_column] = tile[threadIdx.x][threadIdx.y + i];
}

void transpose(float* out, const float* in, int rows, int columns) {
  const dim3 grid((columns + 31) / 32, (rows + 31) / 32), block(32, 8);
  transpose_kernel<float><<<grid, block>>>(out, in, rows, columns);
}
