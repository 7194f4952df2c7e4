// Walks through trees of drafted tokens as far as the target agrees: from node 0, which stands already, on to the first node behind
// it whose parent it is and whose token is what the target predicts there, no more than `depth` steps, and (halts) none behind a
// step whose token ends the text. Told are the steps (-1 behind the last), how many they are, what is predicted behind them, and
// by a byte each which nodes are kept. A sequence has the first lengths[s] of its nodes; where that is none there is no root,
// nothing is kept, and -1 comes next. A warp has a sequence.
__global__ void treewalk_kernel(int* __restrict__ path, int* __restrict__ accepted, int* __restrict__ bonus, unsigned char* __restrict__ kept,
                                const int* __restrict__ parents, const int* __restrict__ tokens, const int* __restrict__ predicted, const int* __restrict__ lengths,
                                const int sequences, const int nodes, const int depth, const int end_token, const bool halts) {
  const long long sequence = static_cast<long long>(blockIdx.x) * 4 + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (sequence >= sequences)
    return;
  const int length = min(lengths[sequence], nodes);
  const int* parent_of = parents + sequence * nodes;
  const int* token_of = tokens + sequence * nodes;
  const int* next_of = predicted + sequence * nodes;
  int* steps = path + sequence * depth;
  unsigned char* flags = kept + sequence * nodes;
  for (int i = lane; i < nodes; i += 32)
    flags[i] = 0;
  __syncwarp();
  int current = 0, taken = 0, coming = -1;
  if (length > 0) {
    if (lane == 0)
      flags[0] = 1;
    coming = next_of[0];
    while (taken < depth) {
      int next = -1;
      for (int base = current + 1; base < length; base += 32) {
        const int i = base + lane;
        const unsigned hits = __ballot_sync(0xffffffffu, i < length && parent_of[i] == current && token_of[i] == coming);
        if (hits != 0u) {
          next = base + __ffs(hits) - 1;
          break;
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
