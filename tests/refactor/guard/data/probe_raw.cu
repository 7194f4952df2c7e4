// Looks keys up in a table with open addresses: from a key's place on, round the end, until it is found, a slot is empty (-1), or `probes` have been seen.
__global__ void probe_kernel(int* __restrict__ found, const int* __restrict__ keys, const int* __restrict__ values, const int* __restrict__ asked,
                             const int queries, const int slots, const int probes, const int missing) {
  const int q = blockIdx.x * 128 + threadIdx.x;
  if (q >= queries)
    return;
  const int key = asked[q];
  unsigned slot = (static_cast<unsigned>(key) * 2654435761u) % slots;
  int value = missing;
  for (int p = 0; p < probes; ++p) {
    const int there = keys[slot];
    if (there == key) {
      value = values[slot];
      break;
    }
    if (there == -1)
      break;
    slot = slot + 1 == slots ? 0 : slot + 1;
  }
  found[q] = value;
}
