// Mean and reciprocal deviation of every row, one block a row, by running moments (B. P. Welford, "Note on a method
// for calculating corrected sums of squares and products", 1962) that are merged across the block.
struct Moments {
  float mean, squares, count;
};
__device__ __forceinline__ Moments merged(const Moments a, const Moments b) {
  const float count = a.count + b.count;
  if (count == 0.f)
    return a;
  const float delta = b.mean - a.mean, share = b.count / count;
  return {a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share, count};
}
template <int BLOCK, int UNROLL>
__global__ void moments_kernel(float* __restrict__ mean, float* __restrict__ rstd, const float* __restrict__ x, const int columns, const float eps) {
  __shared__ Moments of_warps[BLOCK / 32];
  const float* row = x + static_cast<long long>(blockIdx.x) * columns;
  Moments own{0.f, 0.f, 0.f};
#pragma unroll UNROLL
  for (int c = threadIdx.x; c < columns; c += BLOCK) {
    const float value = row[c], delta = value - own.mean;
    own.count += 1.f;
    own.mean += delta / own.count;
    own.squares += delta * (value - own.mean);
  }
  for (int offset = 16; offset > 0; offset /= 2)
    own = merged(own, {__shfl_down_sync(0xffffffffu, own.mean, offset), __shfl_down_sync(0xffffffffu, own.squares, offset), __shfl_down_sync(0xffffffffu, own.count, offset)});
  if (threadIdx.x % 32 == 0)
    of_warps[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < BLOCK / 32; ++warp)
      own = merged(own, of_warps[warp]);
    mean[blockIdx.x] = own.mean;
    rstd[blockIdx.x] = rsqrtf(own.squares / own.count + eps);
  }
}
