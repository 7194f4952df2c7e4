// Every plane drawn out or together, ITEMS places a thread: each takes the element that lies nearest below it.
template <int BLOCK, int ITEMS>
__global__ void nearest_kernel(float* __restrict__ out, const float* __restrict__ x, const int from, const int to, const float step) {
  const int first = blockIdx.x * BLOCK * ITEMS + threadIdx.x, plane = blockIdx.y;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const int i = first + item * BLOCK;
    if (i >= to)
      return;
    const int place = max(0, min(static_cast<int>(floorf(static_cast<float>(i) * step)), from - 1));
    out[static_cast<long long>(plane) * to + i] = x[static_cast<long long>(plane) * from + place];
  }
}
