// Weighted sum over the left neighbour, the element and the right neighbour of every row; the ends stay as they are.
constexpr int BLOCK = 128;

__global__ void stencil_kernel(float* out, const float* in, const int columns, const long long pitch, const float side,
                               const float middle) {
  __shared__ float line[BLOCK + 2];
  const float* row = in + blockIdx.y * pitch;
  const int column = blockIdx.x * BLOCK + threadIdx.x;
  if (column < columns) {
    line[threadIdx.x + 1] = row[column];
    if (threadIdx.x == 0)
      line[0] = column > 0 ? row[column - 1] : 0.f;
    if (threadIdx.x == BLOCK - 1)
      line[BLOCK + 1] = column + 1 < columns ? row[column + 1] : 0.f;
  }
  __syncthreads();
  if (column < columns) {
    float value = line[threadIdx.x + 1];
    if (column > 0 && column + 1 < columns)
      value = side * (line[threadIdx.x] + line[threadIdx.x + 2]) + middle * value;
    out[blockIdx.y * pitch + column] = value;
  }
}
