// Gated activation of experts' rows, as bytes with a scale a row: the gate, no larger than a limit, times its logistic function
// (sharper by alpha), times what is gated, within the limit on either side and, where that is wanted, plus one. Gates and what is
// gated lie by turns (interleaved) or in two halves of a row. An expert has room for so many rows, of which the first counts[e]
// are there; all others get zeros. LANES threads have a row, a block ROWS at a time and ROUNDS times as many; a thread takes VEC
// neighbouring columns at once and keeps KEEP such lots in registers (0: they are made again).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

template <typename T, int VEC>
struct alignas(VEC * sizeof(T) < 16 ? VEC * sizeof(T) : 16) Lot {
  T at[VEC];
};

__device__ __forceinline__ float activated(const float gate, const float up, const float alpha, const float limit, const bool shifted) {
  const float g = fminf(gate, limit);
  const float u = fmaxf(fminf(up, limit), -limit);
  return g / (1.f + expf(-alpha * g)) * (shifted ? u + 1.f : u);
}

__device__ __forceinline__ float larger(const float peak, const float value) {
  return fmaxf(peak, fabsf(value));
}

// VEC columns of a row from column c on.
template <typename T, int VEC>
__device__ __forceinline__ void columns(float (&values)[VEC], const T* from, const int c, const int width, const float alpha, const float limit, const bool interleaved,
                                        const bool shifted) {
  const Lot<T, VEC> front = *reinterpret_cast<const Lot<T, VEC>*>(from + (interleaved ? 2 * c : c));
  const Lot<T, VEC> back = *reinterpret_cast<const Lot<T, VEC>*>(from + (interleaved ? 2 * c + VEC : width + c));
  T both[2 * VEC];
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    both[v] = front.at[v];
    both[VEC + v] = back.at[v];
  }
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    const float gate = static_cast<float>(interleaved ? both[2 * v] : both[v]), up = static_cast<float>(interleaved ? both[2 * v + 1] : both[VEC + v]);
    values[v] = activated(gate, up, alpha, limit, shifted);
  }
}

template <int VEC>
__device__ __forceinline__ void coded(signed char* to, const float (&values)[VEC], const float peak) {
  const float inverse = peak > 0.f ? 127.f / peak : 0.f;
  Lot<signed char, VEC> lot;
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    const int level = __float2int_rn(values[v] * inverse);
    lot.at[v] = static_cast<signed char>(max(-127, min(127, level)));
  }
  *reinterpret_cast<Lot<signed char, VEC>*>(to) = lot;
}

template <typename T, int LANES, int ROWS, int VEC, int KEEP, int ROUNDS>
__global__ void __launch_bounds__(LANES * ROWS)
    clipglu_kernel(signed char* __restrict__ out, float* __restrict__ scales, const T* __restrict__ in, const int* __restrict__ counts, const int room, const int width,
                   const float alpha, const float limit, const bool interleaved, const bool shifted) {
  constexpr int WARPS = LANES / 32;
  __shared__ float peaks[2][ROWS][WARPS];
  const int x = threadIdx.x, y = threadIdx.y, expert = blockIdx.y;
  const int count = counts[expert];
  for (int round = 0; round < ROUNDS; ++round) {
    const int row = (blockIdx.x * ROUNDS + round) * ROWS + y;
    const bool is_row = row < room, is_there = is_row && row < count;
    const long long index = static_cast<long long>(expert) * room + row;
    const T* from = in + index * 2 * width;
    signed char* to = out + index * width;
    float held[KEEP > 0 ? KEEP : 1][VEC];
    float peak = 0.f;
    if (is_there) {
      if constexpr (KEEP > 0) {
#pragma unroll
        for (int k = 0; k < KEEP; ++k) {
          const int c = (k * LANES + x) * VEC;
          if (c < width) {
            columns<T, VEC>(held[k], from, c, width, alpha, limit, interleaved, shifted);
#pragma unroll
            for (int v = 0; v < VEC; ++v)
              peak = larger(peak, held[k][v]);
          }
        }
      } else {
        for (int c = x * VEC; c < width; c += LANES * VEC) {
          columns<T, VEC>(held[0], from, c, width, alpha, limit, interleaved, shifted);
#pragma unroll
          for (int v = 0; v < VEC; ++v)
            peak = larger(peak, held[0][v]);
        }
      }
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      peak = larger(peak, __shfl_xor_sync(0xffffffffu, peak, offset));
    if constexpr (WARPS > 1) {
      // Rounds take turns, so that one barrier is enough.
      float* own = peaks[round % 2][y];
      if (x % 32 == 0)
        own[x / 32] = peak;
      __syncthreads();
#pragma unroll
      for (int w = 0; w < WARPS; ++w)
        peak = larger(peak, own[w]);
    }
    if (is_there) {
      if constexpr (KEEP > 0) {
#pragma unroll
        for (int k = 0; k < KEEP; ++k) {
          const int c = (k * LANES + x) * VEC;
          if (c < width)
            coded<VEC>(to + c, held[k], peak);
        }
      } else {
        for (int c = x * VEC; c < width; c += LANES * VEC) {
          columns<T, VEC>(held[0], from, c, width, alpha, limit, interleaved, shifted);
          coded<VEC>(to + c, held[0], peak);
        }
      }
    } else if (is_row) {
      Lot<signed char, VEC> none;
#pragma unroll
      for (int v = 0; v < VEC; ++v)
        none.at[v] = 0;
      for (int c = x * VEC; c < width; c += LANES * VEC)
        *reinterpret_cast<Lot<signed char, VEC>*>(to + c) = none;
    }
    if (is_row && x == 0)
      scales[index] = is_there ? peak / 127.f : 0.f;
  }
}
