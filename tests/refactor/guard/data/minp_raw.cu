// Filters rows of logits by how likely each is beside the most likely (min-p): scaled by the inverse temperature, a logit stays
// where it lies no further below the row's highest than the logarithm says (or, strictly, less far), and the highest itself, the
// first of equal ones, always does; all others become -infinity. A bit a word of the vocabulary may say what is allowed at all.
// Told are also how many stay, where the highest is (-1 where there is none), and the sum of what stays over the highest,
// exponentiated. Rows of logits lie `pitch` apart. A block has a row.
#include <cuda_bf16.h>
#include <math.h>

template <typename T>
__global__ void minp_kernel(T* __restrict__ out, int* __restrict__ kept, int* __restrict__ first, float* __restrict__ mass, const T* __restrict__ logits,
                            const unsigned* __restrict__ allowed, const int rows, const int vocab, const long long pitch, const float inverse_temperature,
                            const float log_min_p, const bool strict) {
  __shared__ float highest[8];
  __shared__ int places[8];
  __shared__ int counts[8];
  __shared__ float sums[8];
  const long long row = blockIdx.x;
  if (row >= rows)
    return;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const T* x = logits + row * pitch;
  T* y = out + row * vocab;
  const unsigned* words = allowed == nullptr ? nullptr : allowed + row * ((vocab + 31) / 32);
  float top = -INFINITY;
  int place = vocab;
  for (int c = threadIdx.x; c < vocab; c += 256) {
    float value = static_cast<float>(x[c]) * inverse_temperature;
    if (words != nullptr && (words[c / 32] >> (c % 32) & 1u) == 0u)
      value = -INFINITY;
    if (value > top) {
      top = value;
      place = c;
    }
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, top, offset);
    const int elsewhere = __shfl_xor_sync(0xffffffffu, place, offset);
    if (other > top || (other == top && elsewhere < place)) {
      top = other;
      place = elsewhere;
    }
  }
  if (lane == 0) {
    highest[warp] = top;
    places[warp] = place;
  }
  __syncthreads();
  top = highest[0];
  place = places[0];
  for (int w = 1; w < 8; ++w) {
    if (highest[w] > top || (highest[w] == top && places[w] < place)) {
      top = highest[w];
      place = places[w];
    }
  }
  const float threshold = top + log_min_p;
  int count = 0;
  float sum = 0.f;
  for (int c = threadIdx.x; c < vocab; c += 256) {
    float value = static_cast<float>(x[c]) * inverse_temperature;
    if (words != nullptr && (words[c / 32] >> (c % 32) & 1u) == 0u)
      value = -INFINITY;
    const bool stays = c == place || (value > -INFINITY && (strict ? value > threshold : value >= threshold));
    if (stays) {
      ++count;
      sum += expf(value - top);
    }
    y[c] = static_cast<T>(stays ? value : -INFINITY);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    count += __shfl_xor_sync(0xffffffffu, count, offset);
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  if (lane == 0) {
    counts[warp] = count;
    sums[warp] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int all = 0;
    float total = 0.f;
    for (int w = 0; w < 8; ++w) {
      all += counts[w];
      total += sums[w];
    }
    kept[row] = all;
    first[row] = place < vocab ? place : -1;
    mass[row] = total;
  }
}
