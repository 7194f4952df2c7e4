// Attention of one query a sequence and head over a paged cache: an online softmax over tiles of TILE tokens, logits that may be capped, and a window
// of the last tokens. Heads of the cache serve groups of query heads. A block has HEADS heads of a sequence side by side, a thread COLUMNS numbers of
// a head; with two BUFFERS a tile is written while another is still read.
#include <math_constants.h>

constexpr int DIM = 64;

template <int COLUMNS, int HEADS, int TILE, int BUFFERS>
__global__ void capped_kernel(float* __restrict__ out, const float* __restrict__ query, const float* __restrict__ keys, const float* __restrict__ values, const int* __restrict__ table,
                              const int* __restrict__ lengths, const int heads, const int group, const int page, const int most_pages, const int window, const float scale,
                              const float cap) {
  constexpr int THREADS = DIM / COLUMNS;
  __shared__ float asked[HEADS][DIM];
  __shared__ float logits[BUFFERS][HEADS][TILE];
  __shared__ long long places[BUFFERS][HEADS][TILE];
  const int y = threadIdx.y;
  const int head = blockIdx.x * HEADS + y, sequence = blockIdx.y;
  const bool there = head < heads;
  const int length = lengths[sequence];
  const int shared_head = head / group, shared_heads = heads / group;
  const long long mine = (static_cast<long long>(sequence) * heads + head) * DIM;
  const int begin = window > 0 ? max(0, length - window) : 0;
  if (there) {
    for (int i = threadIdx.x; i < DIM; i += THREADS)
      asked[y][i] = query[mine + i] * scale;
  }
  float most = -CUDART_INF_F, total = 0.f;
  float sum[COLUMNS];
#pragma unroll
  for (int c = 0; c < COLUMNS; ++c)
    sum[c] = 0.f;
  int buffer = 0;
  __syncthreads();
  for (int first = begin; first < length; first += TILE) {
    const int count = min(TILE, length - first);
    if (BUFFERS == 1)
      __syncthreads();
    if (there) {
      for (int k = threadIdx.x; k < count; k += THREADS) {
        const int token = first + k;
        const long long number = table[static_cast<long long>(sequence) * most_pages + token / page];
        const long long place = ((number * page + token % page) * shared_heads + shared_head) * DIM;
        float logit = 0.f;
        for (int i = 0; i < DIM; ++i)
          logit += asked[y][i] * keys[place + i];
        if (cap > 0.f)
          logit = cap * tanhf(logit / cap);
        logits[buffer][y][k] = logit;
        places[buffer][y][k] = place;
      }
    }
    __syncthreads();
    if (there) {
      float highest = most;
      for (int k = 0; k < count; ++k)
        highest = fmaxf(highest, logits[buffer][y][k]);
      const float fade = most == -CUDART_INF_F ? 0.f : expf(most - highest);
      total *= fade;
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c)
        sum[c] *= fade;
      for (int k = 0; k < count; ++k) {
        const float logit = logits[buffer][y][k];
        const float weight = logit == -CUDART_INF_F ? 0.f : expf(logit - highest);
        const float* value = values + places[buffer][y][k];
        total += weight;
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
          sum[c] += weight * value[threadIdx.x + c * THREADS];
      }
      most = highest;
    }
    if (BUFFERS == 2)
      buffer ^= 1;
  }
  if (there) {
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c)
      out[mine + threadIdx.x + c * THREADS] = total > 0.f ? sum[c] / total : 0.f;
  }
}
