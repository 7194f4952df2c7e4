// y = alpha * A * x + beta * y for A in slices of `chunk` rows (sliced ELLPACK) whose rows end where a column is below zero. A warp has 32 / LANES
// neighbouring rows at a time and ROUNDS times so many; LANES of its lanes, 32 / LANES apart, share a row, UNROLL elements each at once, and tell each
// other where it ends. Where SHARE, one lane looks up the slice for all, if they have the same; where EARLY, y is read before the sum.
template <int BLOCK, int LANES, int UNROLL, int ROUNDS, int SHARE, int EARLY>
__global__ void __launch_bounds__(BLOCK) ellpack_kernel(float* __restrict__ y, const float* __restrict__ values, const int* __restrict__ columns,
                                                        const long long* __restrict__ starts, const float* __restrict__ x, const int rows, const int chunk,
                                                        const float alpha, const float beta) {
  constexpr int ROWS = 32 / LANES;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int local = lane % ROWS, part = lane / ROWS;
  unsigned mine = 0u;
#pragma unroll
  for (int p = 0; p < LANES; ++p)
    mine |= 1u << (p * ROWS + local);
  const unsigned up_to_own = mine & ((2u << lane) - 1u);
  const bool takes_y = beta != 0.f;
  for (int round = 0; round < ROUNDS; ++round) {
    const int row = (blockIdx.x * ROUNDS + round) * (BLOCK / LANES) + warp * ROWS + local;
    const bool is_row = row < rows;
    const int slice = row / chunk, place = row % chunk;
    long long k = 0, end = 0;
    if (SHARE != 0 && chunk % ROWS == 0) {
      if (lane == 0 && is_row) {
        k = starts[slice];
        end = starts[slice + 1];
      }
      k = __shfl_sync(0xffffffffu, k, 0);
      end = __shfl_sync(0xffffffffu, end, 0);
    } else if (is_row) {
      k = starts[slice];
      end = starts[slice + 1];
    }
    float before = 0.f;
    if (EARLY != 0 && takes_y && is_row && part == 0)
      before = y[row];
    float sum = 0.f;
    bool is_open = is_row && k < end;
    while (__any_sync(0xffffffffu, is_open)) {
      int picked[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const long long own = k + u * LANES + part;
        picked[u] = is_open && own < end ? columns[own * chunk + place] : -1;
      }
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const unsigned ends = __ballot_sync(0xffffffffu, picked[u] < 0) & mine;
        if (is_open && (ends & up_to_own) == 0u)
          sum = fmaf(values[(k + u * LANES + part) * chunk + place], x[picked[u]], sum);
        is_open = is_open && ends == 0u;
      }
      k += UNROLL * LANES;
      is_open = is_open && k < end;
    }
#pragma unroll
    for (int step = ROWS; step < 32; step *= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (is_row && part == 0) {
      const float product = alpha * sum;
      if (EARLY == 0 && takes_y)
        before = y[row];
      y[row] = takes_y ? fmaf(beta, before, product) : product;
    }
  }
}
