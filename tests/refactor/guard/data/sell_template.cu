// y = alpha * A * x + beta * y for A in slices of 32 rows (sliced ELLPACK), of which a block takes BLOCK / SPLIT rows a round and
// ROUNDS rounds. SPLIT threads share a row; each has UNROLL elements under way. Where STAGED, the block's slice starts wait in
// shared memory.
constexpr int SLICE = 32;

template <int BLOCK, int SPLIT, int UNROLL, int ROUNDS, int STAGED>
__global__ void __launch_bounds__(BLOCK) sell_kernel(float* __restrict__ y, const float* __restrict__ values, const int* __restrict__ columns,
                                                     const int* __restrict__ slice_starts, const int* __restrict__ row_lengths,
                                                     const int* __restrict__ order, const float* __restrict__ x, const int rows,
                                                     const float alpha, const float beta) {
  constexpr int ROWS = BLOCK / SPLIT;
  constexpr int SLICES = ROWS * ROUNDS / SLICE;
  __shared__ float parts[SPLIT > 1 ? BLOCK : 1];
  __shared__ int starts[STAGED != 0 ? SLICES + 1 : 1];
  const int local = threadIdx.x % ROWS, part = threadIdx.x / ROWS;
  const int slices = rows / SLICE + (rows % SLICE != 0 ? 1 : 0);
  const int first_slice = blockIdx.x * SLICES;
  if constexpr (STAGED != 0) {
    for (int i = threadIdx.x; i <= SLICES; i += BLOCK)
      starts[i] = slice_starts[min(first_slice + i, slices)];
    __syncthreads();
  }
  for (int round = 0; round < ROUNDS; ++round) {
    const int place = (blockIdx.x * ROUNDS + round) * ROWS + local;
    const bool is_row = place < rows;
    float sum = 0.f;
    if (is_row) {
      const int slice = place / SLICE, lane = place % SLICE;
      int begin, end;
      if constexpr (STAGED != 0) {
        begin = starts[slice - first_slice];
        end = starts[slice - first_slice + 1];
      } else {
        begin = slice_starts[slice];
        end = slice_starts[slice + 1];
      }
      const int length = min(row_lengths[place], end - begin);
      const long long base = static_cast<long long>(begin) * SLICE + lane;
      int k = part;
      for (; k + (UNROLL - 1) * SPLIT < length; k += UNROLL * SPLIT) {
        int picked[UNROLL];
        float value[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
          const long long at = base + static_cast<long long>(k + u * SPLIT) * SLICE;
          picked[u] = columns[at];
          value[u] = values[at];
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
          if (picked[u] >= 0)
            sum += value[u] * x[picked[u]];
      }
      for (; k < length; k += SPLIT) {
        const long long at = base + static_cast<long long>(k) * SLICE;
        const int column = columns[at];
        if (column >= 0)
          sum += values[at] * x[column];
      }
    }
    if constexpr (SPLIT > 1) {
      parts[threadIdx.x] = sum;
      __syncthreads();
      if (part == 0)
        for (int p = 1; p < SPLIT; ++p)
          sum += parts[p * ROWS + local];
    }
    if (part == 0 && is_row) {
      const int row = order[place];
      y[row] = beta == 0.f ? alpha * sum : alpha * sum + beta * y[row];
    }
    if constexpr (SPLIT > 1) {
      if (round + 1 < ROUNDS)
        __syncthreads();
    }
  }
}
