// Weighted sum over the left neighbour, the element and the right neighbour of every row; the ends stay as they are.

template <int BLOCK, int ITEMS>
__global__ void stencil_kernel(float* out, const float* in, const int columns, const long long pitch, const float side,
                               const float middle) {
  __shared__ float line[BLOCK * ITEMS + 2];
  const float* row = in + blockIdx.y * pitch;
  const int first = blockIdx.x * BLOCK * ITEMS;
  for (int i = threadIdx.x; i < BLOCK * ITEMS; i += BLOCK) {
    const int column = first + i;
    if (column < columns) {
      line[i + 1] = row[column];
      if (i == 0)
        line[0] = column > 0 ? row[column - 1] : 0.f;
      if (i == BLOCK * ITEMS - 1)
        line[BLOCK * ITEMS + 1] = column + 1 < columns ? row[column + 1] : 0.f;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < BLOCK * ITEMS; i += BLOCK) {
    const int column = first + i;
    if (column < columns) {
      float value = line[i + 1];
      if (column > 0 && column + 1 < columns)
        value = side * (line[i] + line[i + 2]) + middle * value;
      out[blockIdx.y * pitch + column] = value;
    }
  }
}
