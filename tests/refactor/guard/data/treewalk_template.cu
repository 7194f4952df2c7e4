// Walks through trees of drafted tokens as far as the target agrees: from node 0, which stands already, on to the first node behind
// it whose parent it is and whose token is what the target predicts there, no more than `depth` steps, and (halts) none behind a
// step whose token ends the text. Told are the steps (-1 behind the last), how many they are, what is predicted behind them, and
// by a byte each which nodes are kept. A sequence has the first lengths[s] of its nodes; where that is none there is no root,
// nothing is kept, and -1 comes next. A warp (of WARPS) has TURNS sequences, one after the other, and asks ITEMS nodes a lane at
// once; a sequence's nodes are brought to shared memory before where STAGE is 1. Flags are cleared VEC at a time.
template <int VEC>
struct alignas(VEC) Flags {
  unsigned char at[VEC];
};

template <int WARPS, int ITEMS, int STAGE, int TURNS, int VEC>
__global__ void __launch_bounds__(WARPS * 32)
    treewalk_kernel(int* __restrict__ path, int* __restrict__ accepted, int* __restrict__ bonus, unsigned char* __restrict__ kept, const int* __restrict__ parents,
                    const int* __restrict__ tokens, const int* __restrict__ predicted, const int* __restrict__ lengths, const int sequences, const int nodes,
                    const int depth, const int end_token, const bool halts) {
  extern __shared__ int staged[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int turn = 0; turn < TURNS; ++turn) {
    const long long sequence = (static_cast<long long>(blockIdx.x) * TURNS + turn) * WARPS + warp;
    if (sequence >= sequences)
      return;
    const int length = min(lengths[sequence], nodes);
    const int* parent_of = parents + sequence * nodes;
    const int* token_of = tokens + sequence * nodes;
    const int* next_of = predicted + sequence * nodes;
    int* steps = path + sequence * depth;
    unsigned char* flags = kept + sequence * nodes;
    Flags<VEC> none;
#pragma unroll
    for (int v = 0; v < VEC; ++v)
      none.at[v] = 0;
    for (int i = lane * VEC; i < nodes; i += 32 * VEC)
      *reinterpret_cast<Flags<VEC>*>(flags + i) = none;
    if constexpr (STAGE) {
      int* own = staged + warp * 3 * nodes;
      // Nobody looks at the sequence before any more.
      __syncwarp();
      for (int i = lane; i < length; i += 32) {
        own[i] = parent_of[i];
        own[nodes + i] = token_of[i];
        own[2 * nodes + i] = next_of[i];
      }
      parent_of = own;
      token_of = own + nodes;
      next_of = own + 2 * nodes;
    }
    __syncwarp();
    int current = 0, taken = 0, coming = -1;
    if (length > 0) {
      if (lane == 0)
        flags[0] = 1;
      coming = next_of[0];
      while (taken < depth) {
        int next = -1;
        for (int base = current + 1; base < length && next < 0; base += 32 * ITEMS) {
          bool is_next[ITEMS];
#pragma unroll
          for (int item = 0; item < ITEMS; ++item) {
            const int i = base + item * 32 + lane;
            is_next[item] = i < length && parent_of[i] == current && token_of[i] == coming;
          }
#pragma unroll
          for (int item = 0; item < ITEMS; ++item) {
            const unsigned hits = __ballot_sync(0xffffffffu, is_next[item]);
            if (next < 0 && hits != 0u)
              next = base + item * 32 + __ffs(hits) - 1;
          }
        }
        if (next < 0)
          break;
        if (lane == 0) {
          steps[taken] = next;
          flags[next] = 1;
        }
        ++taken;
        current = next;
        const bool is_end = coming == end_token;
        coming = next_of[current];
        if (halts && is_end)
          break;
      }
    }
    for (int i = taken + lane; i < depth; i += 32)
      steps[i] = -1;
    if (lane == 0) {
      accepted[sequence] = taken;
      bonus[sequence] = coming;
    }
  }
}
