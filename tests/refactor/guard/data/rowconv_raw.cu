// One of the two passes of a separable filter: every row of an image is convolved with 2 * radius + 1 weights, and limited to what lies between low and
// high. Left of a row's first pixel and right of its last one these go on. A block has 256 columns, which wait with those around them in shared
// memory, and goes from row to row where there are more than blocks.
__global__ void __launch_bounds__(256) rowconv_kernel(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ weights,
                                                      const int width, const int height, const int radius, const long long out_pitch,
                                                      const long long in_pitch, const float low, const float high) {
  extern __shared__ float line[];
  const int x0 = blockIdx.x * 256, x = x0 + threadIdx.x;
  for (int y = blockIdx.y; y < height; y += gridDim.y) {
    const float* row = in + y * in_pitch;
    for (int i = threadIdx.x; i < 256 + 2 * radius; i += 256) {
      const long long source = static_cast<long long>(x0) - radius + i;
      line[i] = row[source < 0 ? 0 : source < width ? source : width - 1];
    }
    __syncthreads();
    if (x < width) {
      float sum = 0.f;
      for (int k = 0; k <= 2 * radius; ++k)
        sum = fmaf(weights[k], line[threadIdx.x + k], sum);
      out[y * out_pitch + x] = fminf(fmaxf(sum, low), high);
    }
    __syncthreads();
  }
}
