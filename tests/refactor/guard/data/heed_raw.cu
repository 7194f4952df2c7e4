#include <math.h>
// One query a head against the keys of its sequence: scores with a cap, less by a head's slope for each place that a key lies back, of the last
// `window` keys alone (0: of all); zeros where there are none. A warp a key.
__global__ void heed_kernel(float* __restrict__ out, const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                            const int* __restrict__ lengths, const float* __restrict__ slopes, const int kv, const int longest, const int dim,
                            const int window, const float cap, const float scale) {
  extern __shared__ float scores[];
  __shared__ float parts[4];
  const int head = blockIdx.x, seq = blockIdx.y, heads = gridDim.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int length = lengths[seq], of_kv = head / (heads / kv);
  const int begin = window > 0 ? max(0, length - window) : 0;
  const float* query = q + (static_cast<long long>(seq) * heads + head) * dim;
  float most = -INFINITY;
  for (int t = begin + warp; t < length; t += 4) {
    const float* key = k + ((static_cast<long long>(seq) * longest + t) * kv + of_kv) * dim;
    float score = 0.f;
    for (int d = lane; d < dim; d += 32)
      score += query[d] * key[d];
    for (int s = 16; s > 0; s /= 2)
      score += __shfl_xor_sync(0xffffffffu, score, s);
    score *= scale;
    if (cap > 0.f)
      score = cap * tanhf(score / cap);
    score -= slopes[head] * static_cast<float>(length - 1 - t);
    if (lane == 0)
      scores[t - begin] = score;
    most = fmaxf(most, score);
  }
  if (lane == 0)
    parts[warp] = most;
  __syncthreads();
  most = fmaxf(fmaxf(parts[0], parts[1]), fmaxf(parts[2], parts[3]));
  __syncthreads();
  float sum = 0.f;
  for (int t = begin + threadIdx.x; t < length; t += 128) {
    const float weight = expf(scores[t - begin] - most);
    scores[t - begin] = weight;
    sum += weight;
  }
  for (int s = 16; s > 0; s /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, s);
  if (lane == 0)
    parts[warp] = sum;
  __syncthreads();
  sum = parts[0] + parts[1] + parts[2] + parts[3];
  for (int d = threadIdx.x; d < dim; d += 128) {
    float all = 0.f;
    for (int t = begin; t < length; ++t)
      all += scores[t - begin] * v[((static_cast<long long>(seq) * longest + t) * kv + of_kv) * dim + d];
    out[(static_cast<long long>(seq) * heads + head) * dim + d] = length > 0 ? all / sum : 0.f;
  }
}
