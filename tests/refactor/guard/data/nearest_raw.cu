// Every plane drawn out or together: each place takes the element that lies nearest below it.
__global__ void nearest_kernel(float* __restrict__ out, const float* __restrict__ x, const int from, const int to, const float step) {
  const int i = blockIdx.x * 128 + threadIdx.x, plane = blockIdx.y;
  if (i >= to)
    return;
  const int place = max(0, min(static_cast<int>(floorf(static_cast<float>(i) * step)), from - 1));
  out[static_cast<long long>(plane) * to + i] = x[static_cast<long long>(plane) * from + place];
}
