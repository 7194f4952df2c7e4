// How many of a row's guesses are its labels, and how many labels came before a time; a warp a row.
template <int WARPS, int UNROLL>
__global__ void __launch_bounds__(32 * WARPS) hits_kernel(int* __restrict__ right, int* __restrict__ early, const long long* __restrict__ guesses, const long long* __restrict__ labels, const long long before, const int rows, const int columns) {
  const int row = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  int same = 0, sooner = 0;
#pragma unroll UNROLL
  for (int c = lane; c < columns; c += 32) {
    const long long label = labels[static_cast<long long>(row) * columns + c];
    same += guesses[static_cast<long long>(row) * columns + c] == label;
    sooner += label < before;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    same += __shfl_xor_sync(0xffffffffu, same, offset);
    sooner += __shfl_xor_sync(0xffffffffu, sooner, offset);
  }
  if (lane == 0) {
    right[row] = same;
    early[row] = sooner;
  }
}
