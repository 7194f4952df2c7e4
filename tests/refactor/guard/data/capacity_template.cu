// Places of tokens in their experts' buffers, in the order of the tokens, a block an expert. Tokens behind the last place are
// dropped (-1); kept: how many of each expert's are not.
template <int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) capacity_kernel(int* __restrict__ places, int* __restrict__ kept, const int* __restrict__ experts, const int tokens, const int capacity) {
  constexpr int WARPS = BLOCK / 32;
  __shared__ int sums[ITEMS][WARPS];
  const int expert = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int taken = 0;
  for (int base = 0; base < tokens; base += BLOCK * ITEMS) {
    unsigned votes[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      const int t = base + k * BLOCK + threadIdx.x;
      votes[k] = __ballot_sync(0xffffffffu, t < tokens && experts[t] == expert);
      if (lane == 0)
        sums[k][warp] = __popc(votes[k]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      int before = taken;
      for (int w = 0; w < WARPS; ++w) {
        if (w < warp)
          before += sums[k][w];
        taken += sums[k][w];
      }
      const int place = before + __popc(votes[k] & ((1u << lane) - 1));
      if (votes[k] >> lane & 1)
        places[base + k * BLOCK + threadIdx.x] = place < capacity ? place : -1;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0)
    kept[expert] = min(taken, capacity);
}
