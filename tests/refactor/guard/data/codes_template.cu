// Numbers in steps, to the nearest whole number of them and an even one between two; and which of so many parts of all keys each key is in.
template <int BLOCK, int ITEMS>
__global__ void codes_kernel(int* __restrict__ out, unsigned* __restrict__ share, const float* __restrict__ x, const unsigned* __restrict__ keys, const int cols,
                             const float step, const unsigned buckets) {
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    const int i = (blockIdx.x * ITEMS + k) * BLOCK + threadIdx.x;
    if (i >= cols)
      return;
    const size_t at = static_cast<size_t>(blockIdx.y) * cols + i;
    out[at] = __float2int_rn(x[at] * step);
    share[at] = static_cast<unsigned>(static_cast<unsigned long long>(keys[at] * 2654435761u) * buckets >> 32);
  }
}
