// Attention of one query a sequence and head over a paged cache: an online softmax over tiles of 16 tokens, logits that may be capped, and a window
// of the last tokens. Heads of the cache serve groups of query heads.
#include <math_constants.h>

constexpr int DIM = 64;

__global__ void capped_kernel(float* __restrict__ out, const float* __restrict__ query, const float* __restrict__ keys, const float* __restrict__ values, const int* __restrict__ table,
                              const int* __restrict__ lengths, const int heads, const int group, const int page, const int most_pages, const int window, const float scale,
                              const float cap) {
  __shared__ float asked[DIM];
  __shared__ float logits[16];
  __shared__ long long places[16];
  const int head = blockIdx.x, sequence = blockIdx.y;
  const int length = lengths[sequence];
  const int shared_head = head / group, shared_heads = heads / group;
  const long long mine = (static_cast<long long>(sequence) * heads + head) * DIM;
  const int begin = window > 0 ? max(0, length - window) : 0;
  for (int i = threadIdx.x; i < DIM; i += 64)
    asked[i] = query[mine + i] * scale;
  float most = -CUDART_INF_F, total = 0.f, sum = 0.f;
  for (int first = begin; first < length; first += 16) {
    const int count = min(16, length - first);
    __syncthreads();
    if (threadIdx.x < count) {
      const int token = first + threadIdx.x;
      const long long number = table[static_cast<long long>(sequence) * most_pages + token / page];
      const long long place = ((number * page + token % page) * shared_heads + shared_head) * DIM;
      float logit = 0.f;
      for (int i = 0; i < DIM; ++i)
        logit += asked[i] * keys[place + i];
      if (cap > 0.f)
        logit = cap * tanhf(logit / cap);
      logits[threadIdx.x] = logit;
      places[threadIdx.x] = place;
    }
    __syncthreads();
    float highest = most;
    for (int k = 0; k < count; ++k)
      highest = fmaxf(highest, logits[k]);
    const float fade = most == -CUDART_INF_F ? 0.f : expf(most - highest);
    sum *= fade;
    total *= fade;
    for (int k = 0; k < count; ++k) {
      const float weight = logits[k] == -CUDART_INF_F ? 0.f : expf(logits[k] - highest);
      total += weight;
      sum += weight * values[places[k] + threadIdx.x];
    }
    most = highest;
  }
  out[mine + threadIdx.x] = total > 0.f ? sum / total : 0.f;
}
