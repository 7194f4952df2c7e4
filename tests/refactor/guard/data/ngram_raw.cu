#include <math.h>

// Forbids every word that would repeat a sequence of n words of its row: it becomes -infinity. A block a row.
__global__ void ngram_kernel(float* __restrict__ logits, const int* __restrict__ words, const int* __restrict__ lengths, const int most, const int vocab, const int n) {
  const int* row = words + static_cast<long long>(blockIdx.x) * most;
  const int length = min(lengths[blockIdx.x], most);
  if (n < 1)
    return;
  for (int i = threadIdx.x; i + n <= length; i += 128) {
    bool same = true;
    for (int k = 0; k < n - 1 && same; ++k)
      same = row[i + k] == row[length - n + 1 + k];
    const int word = row[i + n - 1];
    if (same && word >= 0 && word < vocab)
      logits[static_cast<long long>(blockIdx.x) * vocab + word] = -INFINITY;
  }
}
