// One of the two passes of a separable filter: every row of an image is convolved with 2 * radius + 1 weights and limited. A block has BLOCK * PIXELS
// columns of ROWS rows at a time; these and what lies around them wait in shared memory, behind them the weights where STAGED. UNROLL weights at once.
template <int BLOCK, int PIXELS, int ROWS, int STAGED, int UNROLL>
__global__ void __launch_bounds__(BLOCK) rowconv_kernel(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ weights,
                                                        const int width, const int height, const int radius, const long long out_pitch,
                                                        const long long in_pitch, const float low, const float high) {
  extern __shared__ float lines[];
  constexpr int SPAN = BLOCK * PIXELS;
  const int length = SPAN + 2 * radius, taps = 2 * radius + 1;
  float* held = lines + ROWS * length;
  const int x0 = blockIdx.x * SPAN;
  const bool inside = x0 >= radius && width - x0 >= SPAN + radius;
  if constexpr (STAGED != 0) {
    for (int k = threadIdx.x; k < taps; k += BLOCK)
      held[k] = weights[k];
  }
  const auto weight = [&](const int k) -> float {
    if constexpr (STAGED != 0)
      return held[k];
    else
      return weights[k];
  };
  for (long long first = static_cast<long long>(blockIdx.y) * ROWS; first < height; first += static_cast<long long>(gridDim.y) * ROWS) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (first + r < height) {
        const float* row = in + (first + r) * in_pitch;
        float* line = lines + r * length;
        if (inside) {
          for (int i = threadIdx.x; i < length; i += BLOCK)
            line[i] = row[x0 - radius + i];
        } else {
          for (int i = threadIdx.x; i < length; i += BLOCK) {
            const long long source = static_cast<long long>(x0) - radius + i;
            line[i] = row[source < 0 ? 0 : source < width ? source : width - 1];
          }
        }
      }
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (first + r < height) {
#pragma unroll
        for (int p = 0; p < PIXELS; ++p) {
          const int at = p * BLOCK + threadIdx.x;
          if (at < width - x0) {
            const float* line = lines + r * length + at;
            float sum = 0.f;
            int k = 0;
            for (; k + UNROLL <= taps; k += UNROLL) {
#pragma unroll
              for (int u = 0; u < UNROLL; ++u)
                sum = fmaf(weight(k + u), line[k + u], sum);
            }
            for (; k < taps; ++k)
              sum = fmaf(weight(k), line[k], sum);
            out[(first + r) * out_pitch + x0 + at] = fminf(fmaxf(sum, low), high);
          }
        }
      }
    }
    __syncthreads();
  }
}
