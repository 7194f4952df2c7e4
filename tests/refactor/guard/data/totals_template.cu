// Sum, largest and place of the largest of each row of integers, a warp a row, ROWS rows a block.
template <int ROWS>
__global__ void totals_kernel(const int* __restrict__ values, long long* __restrict__ sums,
                              int* __restrict__ largest, int* __restrict__ places, const int width) {
  const int lane = threadIdx.x % 32;
  const int line = blockIdx.x * ROWS + threadIdx.x / 32;
  const int* row = values + static_cast<long long>(line) * width;
  long long sum = 0;
  int most = -2147483647 - 1, place = 0;
  for (int i = lane; i < width; i += 32) {
    sum += row[i];
    if (row[i] > most) {
      most = row[i];
      place = i;
    }
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    const int other = __shfl_xor_sync(0xffffffffu, most, offset);
    const int there = __shfl_xor_sync(0xffffffffu, place, offset);
    if (other > most || (other == most && there < place)) {
      most = other;
      place = there;
    }
  }
  if (lane == 0) {
    sums[line] = sum;
    largest[line] = most;
    places[line] = place;
  }
}
