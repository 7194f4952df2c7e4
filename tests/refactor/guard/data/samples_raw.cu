// Reads images between their places: four neighbours by weight; places outside count as zero. Channels lie side by side.
__global__ void samples_kernel(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ where, const int points, const int height, const int width, const int channels) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= points * channels)
    return;
  const int point = i / channels, channel = i % channels;
  const float x = where[2 * point], y = where[2 * point + 1];
  const float fx = floorf(x), fy = floorf(y);
  const int x0 = static_cast<int>(fx), y0 = static_cast<int>(fy);
  const float wx = x - fx, wy = y - fy;
  float sum = 0.f;
  for (int d = 0; d < 4; ++d) {
    const int cx = x0 + d % 2, cy = y0 + d / 2;
    if (cx >= 0 && cx < width && cy >= 0 && cy < height)
      sum += (d % 2 ? wx : 1.f - wx) * (d / 2 ? wy : 1.f - wy) * in[(static_cast<long long>(cy) * width + cx) * channels + channel];
  }
  out[i] = sum;
}
