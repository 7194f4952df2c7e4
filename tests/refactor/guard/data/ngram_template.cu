#include <math.h>

// Forbids every word that would repeat a sequence of n words of its row: it becomes -infinity. A block a row.
template <int BLOCK, int ITEMS, int HOLD>
__global__ void __launch_bounds__(BLOCK) ngram_kernel(float* __restrict__ logits, const int* __restrict__ words, const int* __restrict__ lengths, const int most, const int vocab, const int n) {
  const int* row = words + static_cast<long long>(blockIdx.x) * most;
  const int length = min(lengths[blockIdx.x], most);
  if (n < 1 || n > length)
    return;
  const int* last = row + length - n + 1;
  int held[HOLD > 0 ? HOLD : 1];
  if constexpr (HOLD > 0) {
#pragma unroll
    for (int k = 0; k < HOLD; ++k)
      held[k] = k < n - 1 ? last[k] : 0;
  }
  for (int base = 0; base + n <= length; base += BLOCK * ITEMS) {
#pragma unroll
    for (int j = 0; j < ITEMS; ++j) {
      const int i = base + j * BLOCK + threadIdx.x;
      if (i + n > length)
        break;
      bool same = true;
      if constexpr (HOLD > 0) {
#pragma unroll
        for (int k = 0; k < HOLD; ++k)
          if (k < n - 1 && same)
            same = row[i + k] == held[k];
      }
      for (int k = HOLD; k < n - 1 && same; ++k)
        same = row[i + k] == last[k];
      const int word = row[i + n - 1];
      if (same && word >= 0 && word < vocab)
        logits[static_cast<long long>(blockIdx.x) * vocab + word] = -INFINITY;
    }
  }
}
