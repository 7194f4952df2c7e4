#include <cuda_bf16.h>
#include <cuda_fp16.h>
// Cross entropy of each row against its label; rows labelled -100 count for nothing.
template <typename T>
__global__ void xent_kernel(float* loss, float* lse, const T* logits, const long long* labels, const int rows, const int vocab) {
  const int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
  if (row >= rows)
    return;
  const T* x = logits + static_cast<long long>(row) * vocab;
  float maximum = -INFINITY, sum = 0.f;
  for (int c = lane; c < vocab; c += 32)
    maximum = fmaxf(maximum, static_cast<float>(x[c]));
  for (int offset = 16; offset > 0; offset /= 2)
    maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, offset));
  for (int c = lane; c < vocab; c += 32)
    sum += expf(static_cast<float>(x[c]) - maximum);
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (lane == 0) {
    const float total = logf(sum) + maximum;
    const long long label = labels[row];
    lse[row] = total;
    loss[row] = label == -100 ? 0.f : total - static_cast<float>(x[label]);
  }
}
