// The k best experts of every token, out of the groups whose two best are best: by sigmoid and bias, weighted by sigmoid alone.
template <int WARPS, int TOKENS, int UNROLL>
__global__ void grouped_kernel(float* __restrict__ weights, int* __restrict__ ids, const float* __restrict__ logits, const float* __restrict__ bias, const int tokens, const int experts, const int groups, const int kept, const int k, const float factor) {
  extern __shared__ float scores[];
  const int lane = threadIdx.x;
  for (int t = 0; t < TOKENS; ++t) {
    const int token = (blockIdx.x * WARPS + threadIdx.y) * TOKENS + t;
    if (token >= tokens)
      return;
    float* own = scores + threadIdx.y * experts;
    const int size = experts / groups;
    for (int e = lane; e < experts; e += 32)
      own[e] = 1.f / (1.f + expf(-logits[static_cast<long long>(token) * experts + e])) + bias[e];
    __syncwarp();
    float group = -INFINITY;
    if (lane < groups) {
      float first = -INFINITY, second = -INFINITY;
      for (int e = lane * size; e < (lane + 1) * size; ++e) {
        const float value = own[e];
        if (value > first) {
          second = first;
          first = value;
        } else if (value > second) {
          second = value;
        }
      }
      group = first + second;
    }
    int rank = 0;
    for (int g = 0; g < groups; ++g) {
      const float other = __shfl_sync(0xffffffffu, group, g);
      rank += other > group || (other == group && g < lane);
    }
    const unsigned chosen = __ballot_sync(0xffffffffu, lane < groups && rank < kept);
    for (int r = 0; r < k; ++r) {
      float best = -INFINITY;
      int place = experts;
#pragma unroll UNROLL
      for (int e = lane; e < experts; e += 32)
        if ((chosen >> (e / size) & 1u) && own[e] > best) {
          best = own[e];
          place = e;
        }
      for (int offset = 16; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, best, offset);
        const int elsewhere = __shfl_xor_sync(0xffffffffu, place, offset);
        if (other > best || (other == best && elsewhere < place)) {
          best = other;
          place = elsewhere;
        }
      }
      if (lane == 0) {
        ids[static_cast<long long>(token) * k + r] = place < experts ? place : -1;
        weights[static_cast<long long>(token) * k + r] = place < experts ? factor / (1.f + expf(-logits[static_cast<long long>(token) * experts + place])) : 0.f;
        if (place < experts)
          own[place] = -INFINITY;
      }
      __syncwarp();
    }
  }
}
