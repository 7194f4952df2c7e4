// Rows of numbers in four bits, a scale and a zero for every group of neighbouring columns: the range of a group, which
// zero always belongs to, in fifteen steps. Two columns a byte, the first in its lower half; behind an odd row's end there
// is a zero. Rows of x lie `pitch` apart. LANES of a warp have a group, and ITEMS groups one behind the other; a lane takes
// VEC bytes' columns at once, and KEEP of these stay in registers between the range and the bytes (0: they are read again).
#include <cuda_fp16.h>

template <typename V, int COUNT>
struct alignas(COUNT * sizeof(V) < 16 ? COUNT * sizeof(V) : 16) Lot {
  V at[COUNT];
};

__device__ __forceinline__ int quantised(const float value, const float scale, const float zero) {
  return static_cast<int>(fminf(fmaxf(rintf(value / scale) + zero, 0.f), 15.f));
}

// The columns from c on; zeros behind the group's end.
template <typename T, int VEC>
__device__ __forceinline__ void take(float (&values)[2 * VEC], const T* from, const int c, const int count) {
  if constexpr (VEC == 1) {
    values[0] = c < count ? static_cast<float>(from[c]) : 0.f;
    values[1] = c + 1 < count ? static_cast<float>(from[c + 1]) : 0.f;
  } else {
    if (c < count) {
      const Lot<T, 2 * VEC> lot = *reinterpret_cast<const Lot<T, 2 * VEC>*>(from + c);
#pragma unroll
      for (int j = 0; j < 2 * VEC; ++j)
        values[j] = static_cast<float>(lot.at[j]);
    } else {
#pragma unroll
      for (int j = 0; j < 2 * VEC; ++j)
        values[j] = 0.f;
    }
  }
}

template <int COUNT>
__device__ __forceinline__ void widen(float& low, float& high, const float (&values)[COUNT]) {
#pragma unroll
  for (int j = 0; j < COUNT; ++j) {
    low = fminf(low, values[j]);
    high = fmaxf(high, values[j]);
  }
}

template <int VEC>
__device__ __forceinline__ void give(unsigned char* to, const float (&values)[2 * VEC], const float scale, const float zero, const int c, const int count) {
  Lot<unsigned char, VEC> bytes;
#pragma unroll
  for (int j = 0; j < VEC; ++j) {
    int both = quantised(values[2 * j], scale, zero);
    if (c + 2 * j + 1 < count)
      both |= quantised(values[2 * j + 1], scale, zero) << 4;
    bytes.at[j] = static_cast<unsigned char>(both);
  }
  *reinterpret_cast<Lot<unsigned char, VEC>*>(to + c / 2) = bytes;
}

template <typename T, int WARPS, int LANES, int VEC, int KEEP, int ITEMS>
__global__ void asym4_kernel(unsigned char* __restrict__ packed, float* __restrict__ scales, unsigned char* __restrict__ zeros, const T* __restrict__ x, const int rows,
                             const int columns, const int group, const long long pitch) {
  constexpr int TEAMS = WARPS * 32 / LANES;
  const int lane = threadIdx.x % LANES, team = threadIdx.x / LANES;
  const int groups = (columns - 1) / group + 1;
  const long long all = static_cast<long long>(rows) * groups;
  const long long first = static_cast<long long>(blockIdx.x) * (TEAMS * ITEMS) + team;
  for (int item = 0; item < ITEMS; ++item) {
    const long long number = first + item * TEAMS;
    const bool is_there = number < all;
    const long long row = number / groups;
    const int begin = static_cast<int>(number % groups) * group;
    const int count = is_there ? min(group, columns - begin) : 0;
    const T* from = x + row * pitch + begin;
    float held[KEEP > 0 ? KEEP : 1][2 * VEC];
    float low = 0.f, high = 0.f;
    if constexpr (KEEP > 0) {
#pragma unroll
      for (int k = 0; k < KEEP; ++k) {
        const int c = (k * LANES + lane) * 2 * VEC;
        take<T, VEC>(held[k], from, c, count);
        widen(low, high, held[k]);
      }
    } else {
      for (int c = lane * 2 * VEC; c < count; c += LANES * 2 * VEC) {
        take<T, VEC>(held[0], from, c, count);
        widen(low, high, held[0]);
      }
    }
#pragma unroll
    for (int offset = LANES / 2; offset > 0; offset /= 2) {
      low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
      high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
    const float scale = fmaxf((high - low) / 15.f, 1e-8f);
    const float zero = fminf(fmaxf(rintf(-low / scale), 0.f), 15.f);
    if (is_there && lane == 0) {
      scales[number] = scale;
      zeros[number] = static_cast<unsigned char>(zero);
    }
    unsigned char* to = packed + row * (columns / 2 + columns % 2) + begin / 2;
    if constexpr (KEEP > 0) {
#pragma unroll
      for (int k = 0; k < KEEP; ++k) {
        const int c = (k * LANES + lane) * 2 * VEC;
        if (c < count)
          give<VEC>(to, held[k], scale, zero, c, count);
      }
    } else {
      for (int c = lane * 2 * VEC; c < count; c += LANES * 2 * VEC) {
        take<T, VEC>(held[0], from, c, count);
        give<VEC>(to, held[0], scale, zero, c, count);
      }
    }
  }
}
