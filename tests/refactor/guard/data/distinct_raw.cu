// How many different keys a row has: a table with open addresses in shared memory, a block a row. Keys are not below zero.
constexpr int SLOTS = 2048;
__global__ void distinct_kernel(int* __restrict__ counts, const int* __restrict__ keys, const int columns) {
  __shared__ int table[SLOTS];
  __shared__ int found;
  for (int s = threadIdx.x; s < SLOTS; s += 128)
    table[s] = -1;
  if (threadIdx.x == 0)
    found = 0;
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += 128) {
    const int key = keys[static_cast<long long>(blockIdx.x) * columns + c];
    unsigned slot = static_cast<unsigned>(key) * 2654435761u % SLOTS;
    for (int probe = 0; probe < SLOTS; ++probe) {
      int held = *static_cast<volatile int*>(&table[slot]);
      if (held == -1) {
        held = atomicCAS(&table[slot], -1, key);
        if (held == -1) {
          atomicAdd(&found, 1);
          break;
        }
      }
      if (held == key)
        break;
      slot = (slot + 1) % SLOTS;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0)
    counts[blockIdx.x] = found;
}
