// Sum, largest and place of the largest of each row of integers, a warp a row.
__global__ void totals_kernel(const int* __restrict__ values, long long* __restrict__ sums,
                              int* __restrict__ largest, int* __restrict__ places, const int width) {
  const int* row = values + static_cast<long long>(blockIdx.x) * width;
  long long sum = 0;
  int most = -2147483647 - 1, place = 0;
  for (int i = threadIdx.x; i < width; i += 32) {
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
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    largest[blockIdx.x] = most;
    places[blockIdx.x] = place;
  }
}
