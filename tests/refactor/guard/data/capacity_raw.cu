// Places of tokens in their experts' buffers, in the order of the tokens, a block an expert. Tokens behind the last place are
// dropped (-1); kept: how many of each expert's are not.
__global__ void capacity_kernel(int* __restrict__ places, int* __restrict__ kept, const int* __restrict__ experts, const int tokens, const int capacity) {
  __shared__ int sums[8];
  const int expert = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int taken = 0;
  for (int base = 0; base < tokens; base += 256) {
    const int t = base + threadIdx.x;
    const bool mine = t < tokens && experts[t] == expert;
    const unsigned votes = __ballot_sync(0xffffffffu, mine);
    if (lane == 0)
      sums[warp] = __popc(votes);
    __syncthreads();
    int before = taken;
    for (int w = 0; w < 8; ++w) {
      if (w < warp)
        before += sums[w];
      taken += sums[w];
    }
    const int place = before + __popc(votes & ((1u << lane) - 1));
    if (mine)
      places[t] = place < capacity ? place : -1;
    __syncthreads();
  }
  if (threadIdx.x == 0)
    kept[expert] = min(taken, capacity);
}
