// Mean over the 3 x 3 places around every place of an image; places outside count as the nearest one inside.
__global__ void box_kernel(float* __restrict__ out, const float* __restrict__ in, const int height, const int width) {
  __shared__ float tile[18][18];
  const int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
    const int y = min(max(y0 + i / 18 - 1, 0), height - 1), x = min(max(x0 + i % 18 - 1, 0), width - 1);
    tile[i / 18][i % 18] = in[static_cast<long long>(y) * width + x];
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
}
