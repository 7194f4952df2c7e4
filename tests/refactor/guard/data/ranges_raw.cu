// Keys are sorted; a key's tile is what is left without its four lowest bits. Where each tile's keys begin and end; tiles without keys keep what they have.
__global__ void ranges_kernel(int* __restrict__ ranges, const int* __restrict__ keys, const int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n)
    return;
  const int tile = keys[i] >> 4;
  if (i == 0) {
    ranges[2 * tile] = 0;
  } else {
    const int before = keys[i - 1] >> 4;
    if (before != tile) {
      ranges[2 * before + 1] = i;
      ranges[2 * tile] = i;
    }
  }
  if (i == n - 1)
    ranges[2 * tile + 1] = n;
}
