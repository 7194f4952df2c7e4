// Keys are sorted; a key's tile is what is left without its four lowest bits. ITEMS keys a thread; with BY_LANE the key before is the lane's before.
template <int BLOCK, int ITEMS, int BY_LANE>
__global__ void ranges_kernel(int* __restrict__ ranges, const int* __restrict__ keys, const int n) {
  for (int item = 0; item < ITEMS; ++item) {
    const int i = (blockIdx.x * ITEMS + item) * BLOCK + threadIdx.x;
    const int tile = i < n ? keys[i] >> 4 : -1;
    int before = -1;
    if (BY_LANE) {
      before = __shfl_up_sync(0xffffffffu, tile, 1);
      if (threadIdx.x % 32 == 0 && i > 0 && i < n)
        before = keys[i - 1] >> 4;
    } else if (i > 0 && i < n) {
      before = keys[i - 1] >> 4;
    }
    if (i >= n)
      continue;
    if (i == 0) {
      ranges[2 * tile] = 0;
    } else if (before != tile) {
      ranges[2 * before + 1] = i;
      ranges[2 * tile] = i;
    }
    if (i == n - 1)
      ranges[2 * tile + 1] = n;
  }
}
