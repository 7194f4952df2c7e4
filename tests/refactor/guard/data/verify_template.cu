// Takes drafted tokens as long as they pass, then the token of which the draft had least too much; what follows is -1.
template <int BLOCK, int UNROLL, int AHEAD>
__global__ void verify_kernel(int* __restrict__ tokens, int* __restrict__ accepted, const float* __restrict__ target, const float* __restrict__ draft, const int* __restrict__ ids, const float* __restrict__ chance, const int drafts, const int vocab) {
  __shared__ float best_of[BLOCK / 32];
  __shared__ int place_of[BLOCK / 32];
  const long long b = blockIdx.x;
  int taken = 0;
#pragma unroll AHEAD
  for (; taken < drafts; ++taken) {
    const int id = ids[b * drafts + taken];
    if (id < 0)
      break;
    if (!(chance[b * drafts + taken] * draft[(b * drafts + taken) * vocab + id] <= target[(b * (drafts + 1) + taken) * vocab + id]))
      break;
    if (threadIdx.x == 0)
      tokens[b * (drafts + 1) + taken] = id;
  }
  const float* p = target + (b * (drafts + 1) + taken) * vocab;
  const float* q = draft + (b * drafts + taken) * vocab;
  float best = -INFINITY;
  int place = vocab;
#pragma unroll UNROLL
  for (int i = threadIdx.x; i < vocab; i += BLOCK) {
    const float value = taken < drafts ? fmaxf(p[i] - q[i], 0.f) : p[i];
    if (value > best) {
      best = value;
      place = i;
    }
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, best, offset);
    const int elsewhere = __shfl_xor_sync(0xffffffffu, place, offset);
    if (other > best || (other == best && elsewhere < place)) {
      best = other;
      place = elsewhere;
    }
  }
  if (threadIdx.x % 32 == 0) {
    best_of[threadIdx.x / 32] = best;
    place_of[threadIdx.x / 32] = place;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < BLOCK / 32; ++w)
      if (best_of[w] > best || (best_of[w] == best && place_of[w] < place)) {
        best = best_of[w];
        place = place_of[w];
      }
    tokens[b * (drafts + 1) + taken] = place;
    for (int t = taken + 1; t <= drafts; ++t)
      tokens[b * (drafts + 1) + t] = -1;
    accepted[b] = taken;
  }
}
