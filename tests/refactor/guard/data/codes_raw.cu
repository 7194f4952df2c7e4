// Numbers in steps, to the nearest whole number of them and an even one between two; and which of so many parts of all keys each key is in.
__global__ void codes_kernel(int* __restrict__ out, unsigned* __restrict__ share, const float* __restrict__ x, const unsigned* __restrict__ keys, const int cols,
                             const float step, const unsigned buckets) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < cols) {
    const size_t at = static_cast<size_t>(blockIdx.y) * cols + i;
    out[at] = __float2int_rn(x[at] * step);
    share[at] = static_cast<unsigned>(static_cast<unsigned long long>(keys[at] * 2654435761u) * buckets >> 32);
  }
}
