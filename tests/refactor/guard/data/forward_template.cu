#include <cmath>
// Forward scores of a chain of states, in COPIES rows of shared memory that take turns; with EARLY a step's numbers are asked for one step ahead.
__device__ float add(const float a, const float b, const float c) {
  const float most = fmaxf(a, fmaxf(b, c));
  if (most == -INFINITY)
    return most;
  return most + logf(expf(a - most) + expf(b - most) + expf(c - most));
}
template <int BLOCK, int EARLY, int COPIES>
__global__ void forward_kernel(float* __restrict__ score, const float* __restrict__ emit, const int* __restrict__ lengths, const unsigned char* __restrict__ may_skip,
                               const int steps, const int states) {
  extern __shared__ float alpha[];
  const int length = lengths[blockIdx.x];
  const float* rows = emit + static_cast<long long>(blockIdx.x) * steps * states;
  for (int s = threadIdx.x; s < states; s += BLOCK)
    alpha[s] = s == 0 ? 0.f : -INFINITY;
  __syncthreads();
  int at = 0;
  float ahead = 0.f;
  if (EARLY && length > 0 && static_cast<int>(threadIdx.x) < states)
    ahead = rows[threadIdx.x];
  for (int t = 0; t < length; ++t) {
    const float* now = alpha + at * states;
    const int turn = at + 1 == COPIES ? 0 : at + 1;
    float* then = alpha + turn * states;
    for (int s = threadIdx.x; s < states; s += BLOCK) {
      const float one = s >= 1 ? now[s - 1] : -INFINITY, two = s >= 2 && may_skip[s] ? now[s - 2] : -INFINITY;
      float emitted;
      if (EARLY && s < BLOCK) {
        emitted = ahead;
        if (t + 1 < length)
          ahead = rows[static_cast<long long>(t + 1) * states + s];
      } else {
        emitted = rows[static_cast<long long>(t) * states + s];
      }
      then[s] = add(now[s], one, two) + emitted;
    }
    __syncthreads();
    at = turn;
  }
  if (threadIdx.x == 0)
    score[blockIdx.x] = add(alpha[at * states + states - 1], states > 1 ? alpha[at * states + states - 2] : -INFINITY, -INFINITY);
}
