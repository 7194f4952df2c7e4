// Of every row the ranks of its positive elements, and every element with its neighbour added; one warp a row.
template <int WARPS, int UNROLL>
__global__ void warp_rows_kernel(float* __restrict__ sums, int* __restrict__ ranks, const float* __restrict__ in, const int rows,
                                 const int columns) {
  __shared__ float line[WARPS][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = blockIdx.x * WARPS + warp;
  if (row >= rows)
    return;
  const long long begin = static_cast<long long>(row) * columns;
  int positive = 0;
#pragma unroll UNROLL
  for (int first = 0; first < columns; first += 32) {
    const int column = first + lane;
    const float value = column < columns ? in[begin + column] : 0.f;
    const unsigned vote = __ballot_sync(0xffffffffu, value > 0.f);
    line[warp][lane] = value;
    __syncwarp();
    if (column < columns) {
      ranks[begin + column] = positive + __popc(vote & ((1u << lane) - 1));
      sums[begin + column] = value + line[warp][lane ^ 1];
    }
    positive += __popc(vote);
    __syncwarp();
  }
}
