// Looks keys up in a table with open addresses. LANES threads look at slots side by side; ITEMS keys each.
template <int BLOCK, int LANES, int ITEMS>
__global__ void probe_kernel(int* __restrict__ found, const int* __restrict__ keys, const int* __restrict__ values, const int* __restrict__ asked,
                             const int queries, const int slots, const int probes, const int missing) {
  const int lane = threadIdx.x % LANES, first_lane = threadIdx.x % 32 / LANES * LANES;
  const unsigned tile = LANES == 32 ? 0xffffffffu : ((1u << LANES % 32) - 1u) << first_lane;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const int q = (blockIdx.x * ITEMS + item) * (BLOCK / LANES) + threadIdx.x / LANES;
    if (q >= queries)
      return;
    const int key = asked[q];
    const unsigned home = (static_cast<unsigned>(key) * 2654435761u) % slots;
    int value = missing;
    for (int p = 0; p < probes; p += LANES) {
      const unsigned slot = (home + p + lane) % slots;
      const bool counts = p + lane < probes;
      const int there = counts ? keys[slot] : 0;
      const unsigned hits = __ballot_sync(tile, counts && there == key), ends = __ballot_sync(tile, counts && there == -1);
      const unsigned either = hits | ends;
      if (either) {
        const int which = __ffs(either) - 1;
        if (hits >> which & 1u)
          value = values[(home + p + which - first_lane) % slots];
        break;
      }
    }
    if (lane == 0)
      found[q] = value;
  }
}
