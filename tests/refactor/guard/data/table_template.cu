// Codes of four bits by a table of normal quantiles, with a byte as scale for each 64 of a row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__constant__ float QUANTILES[16] = {-1.f,    -0.6962f, -0.5251f, -0.3949f, -0.2844f, -0.1848f, -0.0911f, 0.f,
                                    0.0796f, 0.1609f,  0.2461f,  0.3379f,  0.4407f,  0.5626f,  0.723f,   1.f};

template <typename T, int BLOCK, int PAIRS>
__global__ void table_kernel(T* __restrict__ y, const unsigned char* __restrict__ codes,
                             const unsigned char* __restrict__ scales, const float* __restrict__ row_scale,
                             const float offset, const int columns) {
  const long long row = blockIdx.y;
  for (int k = 0; k < PAIRS; ++k) {
    const int pair = (blockIdx.x * BLOCK + threadIdx.x) * PAIRS + k;
    if (pair >= columns / 2)
      return;
    const float scale =
        static_cast<float>(scales[row * ((columns + 63) / 64) + pair * 2 / 64]) / 255.f * row_scale[row] + offset;
    const unsigned char code = codes[row * (columns / 2) + pair];
    y[row * columns + pair * 2] = static_cast<T>(QUANTILES[code >> 4] * scale);
    y[row * columns + pair * 2 + 1] = static_cast<T>(QUANTILES[code & 15] * scale);
  }
}
