// Adds noise to every element: a hash of a seed of 64 bits, the step and the element's number.
__device__ inline unsigned long long mixed(unsigned long long x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}
__global__ void jitter_kernel(float* __restrict__ out, const float* __restrict__ in, const float strength, const long long seed, const long long step, const long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n)
    return;
  const unsigned long long bits = mixed(mixed(static_cast<unsigned long long>(seed)) + static_cast<unsigned long long>(step) * 0x9e3779b97f4a7c15ull + static_cast<unsigned long long>(i));
  out[i] = in[i] + strength * (static_cast<float>(static_cast<unsigned>(bits >> 40)) * 0x1p-24f);
}
