// careful_sums with ROWS rows a block.
#include <cstdint>

template <int ROWS>
__global__ void careful_sums_kernel(float* __restrict__ sums, const float* __restrict__ values, const int width) {
  const int64_t line = static_cast<int64_t>(blockIdx.x) * ROWS + (ROWS == 1 ? 0 : threadIdx.x / 32);
  const int lane = ROWS == 1 ? threadIdx.x : threadIdx.x % 32;
  const float* row = values + line * width;
  float sum = 0.f, lost = 0.f;
  for (int i = lane; i < width; i += 32) {
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
  if (lane == 0)
    sums[line] = sum - lost;
}
