// Causal convolution of ragged sequences over four tokens with a state that is kept in a slot a sequence; a slot below zero is none.
template <int BLOCK, int UNROLL, int SEQUENCES>
__global__ void causal_kernel(float* __restrict__ out, float* __restrict__ state, const float* __restrict__ x, const float* __restrict__ w, const int* __restrict__ starts, const int* __restrict__ slots, const unsigned char* __restrict__ kept, const int channels, const int sequences) {
  const int c = blockIdx.x * BLOCK + threadIdx.x;
  if (c >= channels)
    return;
  for (int s = blockIdx.y * SEQUENCES; s < (blockIdx.y + 1) * SEQUENCES && s < sequences; ++s) {
    const int slot = slots[s];
    if (slot < 0)
      continue;
    float* mine = state + (static_cast<long long>(slot) * channels + c) * 3;
    float a = 0.f, b = 0.f, d = 0.f;
    if (kept[s]) {
      a = mine[0];
      b = mine[1];
      d = mine[2];
    }
    const float w0 = w[c * 4], w1 = w[c * 4 + 1], w2 = w[c * 4 + 2], w3 = w[c * 4 + 3];
    const int end = starts[s + 1];
#pragma unroll UNROLL
    for (int t = starts[s]; t < end; ++t) {
      const float value = x[static_cast<long long>(t) * channels + c];
      const float sum = a * w0 + b * w1 + d * w2 + value * w3;
      out[static_cast<long long>(t) * channels + c] = sum / (1.f + expf(-sum));
      a = b;
      b = d;
      d = value;
    }
    mine[0] = a;
    mine[1] = b;
    mine[2] = d;
  }
}
