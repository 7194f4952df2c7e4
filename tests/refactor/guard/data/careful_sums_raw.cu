// Sums of rows by one warp each, with the errors of the additions carried along (W. Kahan, "Further remarks on
// reducing truncation errors", 1965), across the lanes as well.
#include <cstdint>

__global__ void careful_sums_kernel(float* __restrict__ sums, const float* __restrict__ values, const int width) {
  const float* row = values + static_cast<int64_t>(blockIdx.x) * width;
  float sum = 0.f, lost = 0.f;
  for (int i = threadIdx.x; i < width; i += 32) {
    const float term = row[i] - lost;
    const float next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffff, sum, offset);
    const float others_lost = __shfl_xor_sync(0xffffffff, lost, offset);
    const float next = sum + other;
    const float part = next - sum;
    lost = lost + others_lost - ((sum - (next - part)) + (other - part));
    sum = next;
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = sum - lost;
}
