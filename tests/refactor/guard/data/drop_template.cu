// Leaves out elements at random, by a hash of the seed and the element's number, and scales the others.
__device__ __forceinline__ unsigned long long mixed(unsigned long long z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
template <int BLOCK, int VEC>
__global__ void drop_kernel(float* __restrict__ out, const float* __restrict__ x, const long long n, const long long seed, const long long offset, const float p) {
  const long long first = (static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x) * VEC;
#pragma unroll
  for (int j = 0; j < VEC; ++j) {
    const long long i = first + j;
    if (i >= n)
      return;
    const unsigned long long drawn = mixed(static_cast<unsigned long long>(seed) + 0x9e3779b97f4a7c15ull * static_cast<unsigned long long>(offset + i));
    const float chance = static_cast<float>(drawn >> 40) * 5.9604644775390625e-8f;
    out[i] = chance >= p ? x[i] * (1.f / (1.f - p)) : 0.f;
  }
}
