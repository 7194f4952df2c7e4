// Of each cloud of points the first, and then the one that is farthest from those taken, as often as `takes` says.
// Cache policy of a load: 0 plain, 1 streaming.
template <int LOAD> __device__ __forceinline__ int hinted(const int* place) {
  if constexpr (LOAD == 1)
    return __ldcs(place);
  else
    return *place;
}
template <int LOAD>
__global__ void farthest_kernel(const float* __restrict__ points, const int* __restrict__ takes, float* __restrict__ taken,
                                const int length, const int most) {
  __shared__ float farthest[64];
  const float* cloud = points + static_cast<long long>(blockIdx.x) * length;
  float last = cloud[0], nearest = 1e30f;
  for (int round = 0; round < hinted<LOAD>(takes + blockIdx.x) + 2; ++round) {
    if (threadIdx.x == 0 && round < most)
      taken[blockIdx.x * most + round] = last;
    float best = -1.f;
    for (int i = threadIdx.x; i < length; i += 64) {
      nearest = fminf(nearest, fabsf(cloud[i] - last));
      best = fmaxf(best, nearest);
    }
    farthest[threadIdx.x] = best;
    for (int half = 32; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half)
        farthest[threadIdx.x] = fmaxf(farthest[threadIdx.x], farthest[threadIdx.x + half]);
    }
    __syncthreads();
    last = farthest[0];
    __syncthreads();
  }
}
