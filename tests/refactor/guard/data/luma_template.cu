// Colours as brightness of each pixel and colour of each four, in integers. A thread does four pixels.
__device__ __forceinline__ unsigned char limited(int value) { return static_cast<unsigned char>(min(max(value, 0), 255)); }

template <int TILE_X, int TILE_Y, int PAIRS>
__global__ void luma_kernel(unsigned char* __restrict__ luma, unsigned char* __restrict__ chroma,
                            const unsigned char* __restrict__ rgb, const int height, const int width) {
  const int cell_y = blockIdx.y * TILE_Y + threadIdx.y;
  const int cells_x = (width + 1) / 2, cells_y = (height + 1) / 2;
  if (cell_y >= cells_y)
    return;
  for (int k = 0; k < PAIRS; ++k) {
    const int cell_x = (blockIdx.x * PAIRS + k) * TILE_X + threadIdx.x;
    if (cell_x >= cells_x)
      return;
    int red = 0, green = 0, blue = 0, count = 0;
    for (int y = cell_y * 2; y < min(cell_y * 2 + 2, height); ++y)
      for (int x = cell_x * 2; x < min(cell_x * 2 + 2, width); ++x) {
        const unsigned char* pixel = rgb + (static_cast<long long>(y) * width + x) * 3;
        const int r = pixel[0], g = pixel[1], b = pixel[2];
        luma[static_cast<long long>(y) * width + x] = limited((66 * r + 129 * g + 25 * b + 128 >> 8) + 16);
        red += r;
        green += g;
        blue += b;
        ++count;
      }
    red = (red + count / 2) / count;
    green = (green + count / 2) / count;
    blue = (blue + count / 2) / count;
    unsigned char* pair = chroma + (static_cast<long long>(cell_y) * cells_x + cell_x) * 2;
    pair[0] = limited((-38 * red - 74 * green + 112 * blue + 128 >> 8) + 128);
    pair[1] = limited((112 * red - 94 * green - 18 * blue + 128 >> 8) + 128);
  }
}
