// Mean over a window of each row's neighbours (-1: no limit on that side), with optional bias and residual.
__global__ void band_kernel(float* out, const float* in, const float* bias, const float* residual, const int left, const int right,
                            const bool centred, const bool halved, const float alpha, const float beta, const int width) {
  const int row = blockIdx.x;
  for (int c = threadIdx.x; c < width; c += 64) {
    const int first = left >= 0 ? max(0, c - left) : 0, last = right >= 0 ? min(width - 1, c + right) : width - 1;
    float sum = 0.f;
    for (int k = first; k <= last; ++k)
      sum += in[row * width + k];
    float mean = sum / static_cast<float>(last - first + 1);
    if (centred)
      mean = in[row * width + c] - mean;
    if (halved)
      mean = mean / 2.f;
    float result = alpha * mean;
    if (beta != 0.f)
      result += beta * in[row * width + c];
    if (bias != nullptr)
      result += bias[c];
    if (residual != nullptr)
      result += residual[row * width + c];
    out[row * width + c] = result;
  }
}
