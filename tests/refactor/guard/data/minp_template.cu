// Filters rows of logits by how likely each is beside the most likely (min-p): scaled by the inverse temperature, a logit stays
// where it lies no further below the row's highest than the logarithm says (or, strictly, less far), and the highest itself, the
// first of equal ones, always does; all others become -infinity. A bit a word of the vocabulary may say what is allowed at all.
// Told are also how many stay, where the highest is (-1 where there is none), and the sum of what stays over the highest,
// exponentiated. Rows of logits lie `pitch` apart. A block has ROWS rows, one after the other; a thread takes VEC neighbouring
// logits at once and keeps KEEP such lots in registers (0: they are read again); lots of which nothing is allowed are not read
// where SKIP is 1.
#include <cuda_bf16.h>
#include <math.h>

template <typename T, int VEC>
struct alignas(VEC * sizeof(T) < 16 ? VEC * sizeof(T) : 16) Lot {
  T at[VEC];
};

template <int SKIP, typename T, int VEC>
__device__ __forceinline__ void scaled(float (&values)[VEC], const T* x, const unsigned* words, const int c, const float inverse_temperature) {
  const unsigned bits = words == nullptr ? ~0u : words[c / 32] >> (c % 32);
  if (SKIP && (bits & ((1u << VEC) - 1u)) == 0u) {
#pragma unroll
    for (int v = 0; v < VEC; ++v)
      values[v] = -INFINITY;
    return;
  }
  const Lot<T, VEC> lot = *reinterpret_cast<const Lot<T, VEC>*>(x + c);
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    const float value = static_cast<float>(lot.at[v]) * inverse_temperature;
    values[v] = (bits >> v & 1u) != 0u ? value : -INFINITY;
  }
}

template <typename T, int VEC>
__device__ __forceinline__ void filtered(T* y, const float (&values)[VEC], const int c, const int place, const float top, const float log_min_p, const bool strict, int& count,
                                         float& sum) {
  const float threshold = top + log_min_p;
  Lot<T, VEC> lot;
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    const float value = values[v];
    const bool passes = strict ? value > threshold : value >= threshold;
    const bool stays = c + v == place || (value > -INFINITY && passes);
    if (stays) {
      ++count;
      sum += expf(value - top);
    }
    lot.at[v] = static_cast<T>(stays ? value : -INFINITY);
  }
  *reinterpret_cast<Lot<T, VEC>*>(y + c) = lot;
}

template <typename T, int BLOCK, int ROWS, int VEC, int KEEP, int SKIP>
__global__ void __launch_bounds__(BLOCK)
    minp_kernel(T* __restrict__ out, int* __restrict__ kept, int* __restrict__ first, float* __restrict__ mass, const T* __restrict__ logits,
                const unsigned* __restrict__ allowed, const int rows, const int vocab, const long long pitch, const float inverse_temperature,
                const float log_min_p, const bool strict) {
  constexpr int WARPS = BLOCK / 32;
  __shared__ float highest[WARPS];
  __shared__ int places[WARPS];
  __shared__ int counts[WARPS];
  __shared__ float sums[WARPS];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  for (int r = 0; r < ROWS; ++r) {
    const long long row = static_cast<long long>(blockIdx.x) * ROWS + r;
    if (row >= rows)
      return;
    const T* x = logits + row * pitch;
    T* y = out + row * vocab;
    const unsigned* words = allowed == nullptr ? nullptr : allowed + row * ((vocab + 31) / 32);
    float held[KEEP > 0 ? KEEP : 1][VEC];
    float top = -INFINITY;
    int place = vocab;
    if constexpr (KEEP > 0) {
#pragma unroll
      for (int k = 0; k < KEEP; ++k) {
        const int c = (k * BLOCK + thread) * VEC;
#pragma unroll
        for (int v = 0; v < VEC; ++v)
          held[k][v] = -INFINITY;
        if (c < vocab)
          scaled<SKIP, T, VEC>(held[k], x, words, c, inverse_temperature);
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          if (held[k][v] > top) {
            top = held[k][v];
            place = c + v;
          }
        }
      }
    } else {
      for (int c = thread * VEC; c < vocab; c += BLOCK * VEC) {
        scaled<SKIP, T, VEC>(held[0], x, words, c, inverse_temperature);
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          if (held[0][v] > top) {
            top = held[0][v];
            place = c + v;
          }
        }
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
#pragma unroll
    for (int w = 1; w < WARPS; ++w) {
      if (highest[w] > top || (highest[w] == top && places[w] < place)) {
        top = highest[w];
        place = places[w];
      }
    }
    int count = 0;
    float sum = 0.f;
    if constexpr (KEEP > 0) {
#pragma unroll
      for (int k = 0; k < KEEP; ++k) {
        const int c = (k * BLOCK + thread) * VEC;
        if (c < vocab)
          filtered<T, VEC>(y, held[k], c, place, top, log_min_p, strict, count, sum);
      }
    } else {
      for (int c = thread * VEC; c < vocab; c += BLOCK * VEC) {
        scaled<SKIP, T, VEC>(held[0], x, words, c, inverse_temperature);
        filtered<T, VEC>(y, held[0], c, place, top, log_min_p, strict, count, sum);
      }
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
    // The next row's counts wait for its highest, whose barrier the first thread reaches behind these.
    __syncthreads();
    if (thread == 0) {
      int all = 0;
      float total = 0.f;
#pragma unroll
      for (int w = 0; w < WARPS; ++w) {
        all += counts[w];
        total += sums[w];
      }
      kept[row] = all;
      first[row] = place < vocab ? place : -1;
      mass[row] = total;
    }
  }
}
