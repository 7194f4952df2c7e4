#include <math.h>
// One query a head against the keys of its sequence. LANES threads a key.
template <int BLOCK, int LANES, int UNROLL>
__global__ void heed_kernel(float* __restrict__ out, const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                            const int* __restrict__ lengths, const float* __restrict__ slopes, const int kv, const int longest, const int dim,
                            const int window, const float cap, const float scale) {
  constexpr int GROUPS = BLOCK / LANES, WARPS = BLOCK / 32;
  extern __shared__ float scores[];
  __shared__ float parts[WARPS];
  const int head = blockIdx.x, seq = blockIdx.y, heads = gridDim.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int group = threadIdx.x / LANES, member = threadIdx.x % LANES;
  const int length = lengths[seq], of_kv = head / (heads / kv);
  const int begin = window > 0 ? max(0, length - window) : 0;
  const float* query = q + (static_cast<long long>(seq) * heads + head) * dim;
  float most = -INFINITY;
  for (int first = begin; first < length; first += GROUPS) {
    const int t = first + group;
    float score = 0.f;
    if (t < length) {
      const float* key = k + ((static_cast<long long>(seq) * longest + t) * kv + of_kv) * dim;
      for (int d = member; d < dim; d += LANES)
        score += query[d] * key[d];
    }
#pragma unroll
    for (int s = LANES / 2; s > 0; s /= 2)
      score += __shfl_xor_sync(0xffffffffu, score, s);
    if (t < length) {
      score *= scale;
      if (cap > 0.f)
        score = cap * tanhf(score / cap);
      score -= slopes[head] * static_cast<float>(length - 1 - t);
      if (member == 0)
        scores[t - begin] = score;
      most = fmaxf(most, score);
    }
  }
#pragma unroll
  for (int s = 16; s > 0; s /= 2)
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, s));
  if (lane == 0)
    parts[warp] = most;
  __syncthreads();
  most = parts[0];
  for (int w = 1; w < WARPS; ++w)
    most = fmaxf(most, parts[w]);
  __syncthreads();
  float sum = 0.f;
  for (int t = begin + threadIdx.x; t < length; t += BLOCK) {
    const float weight = expf(scores[t - begin] - most);
    scores[t - begin] = weight;
    sum += weight;
  }
  for (int s = 16; s > 0; s /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, s);
  if (lane == 0)
    parts[warp] = sum;
  __syncthreads();
  sum = parts[0];
  for (int w = 1; w < WARPS; ++w)
    sum += parts[w];
  for (int d = threadIdx.x; d < dim; d += BLOCK) {
    float all = 0.f;
#pragma unroll UNROLL
    for (int t = begin; t < length; ++t)
      all += scores[t - begin] * v[((static_cast<long long>(seq) * longest + t) * kv + of_kv) * dim + d];
    out[(static_cast<long long>(seq) * heads + head) * dim + d] = length > 0 ? all / sum : 0.f;
  }
}
