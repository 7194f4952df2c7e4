#include <cmath>
// Forward scores of a chain of states: each step a state comes from itself, the one before, or the one before that where it may.
__device__ float add(const float a, const float b, const float c) {
  const float most = fmaxf(a, fmaxf(b, c));
  if (most == -INFINITY)
    return most;
  return most + logf(expf(a - most) + expf(b - most) + expf(c - most));
}
__global__ void forward_kernel(float* __restrict__ score, const float* __restrict__ emit, const int* __restrict__ lengths, const unsigned char* __restrict__ may_skip,
                               const int steps, const int states) {
  extern __shared__ float alpha[];
  const int length = lengths[blockIdx.x];
  const float* rows = emit + static_cast<long long>(blockIdx.x) * steps * states;
  for (int s = threadIdx.x; s < states; s += 64)
    alpha[s] = s == 0 ? 0.f : -INFINITY;
  __syncthreads();
  float *now = alpha, *then = alpha + states;
  for (int t = 0; t < length; ++t) {
    for (int s = threadIdx.x; s < states; s += 64) {
      const float one = s >= 1 ? now[s - 1] : -INFINITY, two = s >= 2 && may_skip[s] ? now[s - 2] : -INFINITY;
      then[s] = add(now[s], one, two) + rows[static_cast<long long>(t) * states + s];
    }
    __syncthreads();
    float* swap = now;
    now = then;
    then = swap;
  }
  if (threadIdx.x == 0)
    score[blockIdx.x] = add(now[states - 1], states > 1 ? now[states - 2] : -INFINITY, -INFINITY);
}
