// Mean over the 3 x 3 places around every place of an image; places outside count as the nearest one inside. ROWS tiles one
// below the other a block.
template <int TX, int TY, int ROWS>
__global__ void box_kernel(float* __restrict__ out, const float* __restrict__ in, const int height, const int width) {
  __shared__ float tile[TY + 2][TX + 2];
  const int x0 = blockIdx.x * TX;
  for (int r = 0; r < ROWS; ++r) {
    const int y0 = (blockIdx.y * ROWS + r) * TY;
    for (int i = threadIdx.y * TX + threadIdx.x; i < (TY + 2) * (TX + 2); i += TX * TY) {
      const int y = min(max(y0 + i / (TX + 2) - 1, 0), height - 1), x = min(max(x0 + i % (TX + 2) - 1, 0), width - 1);
      tile[i / (TX + 2)][i % (TX + 2)] = in[static_cast<long long>(y) * width + x];
    }
    __syncthreads();
    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x < width && y < height) {
      float sum = 0.f;
      for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx)
          sum += tile[threadIdx.y + dy][threadIdx.x + dx];
      out[static_cast<long long>(y) * width + x] = sum / 9.f;
    }
    __syncthreads();
  }
}
