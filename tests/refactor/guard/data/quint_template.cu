// Rows of numbers in five bits, in blocks of 32 with a scale each: the number that is furthest from zero (of several the first), with its sign,
// is level 0, zero is level 16. A byte has the lower four bits of number i and, above them, of number i + 16; a word has all fifth bits. Rows
// of x lie `pitch` apart. LANES of a warp have a block of 32, and ITEMS such one after the other; a lane has 16 / LANES bytes and takes VEC
// neighbouring numbers of each half at once.
#include <cuda_fp16.h>

template <typename T, int COUNT>
struct alignas(COUNT * sizeof(T)) Lot {
  T at[COUNT];
};

__device__ __forceinline__ int level_of(const float value, const float inverse) {
  return min(31, static_cast<int>(value * inverse + 16.5f));
}

template <int BLOCK, int LANES, int VEC, int ITEMS>
__global__ void quint_kernel(__half* __restrict__ scales, unsigned* __restrict__ high, unsigned char* __restrict__ low, const float* __restrict__ x, const int rows,
                             const int columns, const long long pitch) {
  constexpr int PER = 16 / LANES, TEAMS = BLOCK / LANES;
  const int lane = threadIdx.x % LANES, team = threadIdx.x / LANES;
  const int blocks = columns / 32;
  for (int row = blockIdx.y; row < rows; row += gridDim.y) {
    for (int item = 0; item < ITEMS; ++item) {
      const int number = (blockIdx.x * ITEMS + item) * TEAMS + team;
      const bool is_there = number < blocks;
      const float* from = x + row * pitch + static_cast<long long>(number) * 32;
      float lower[PER], upper[PER];
#pragma unroll
      for (int j = 0; j < PER; ++j) {
        lower[j] = 0.f;
        upper[j] = 0.f;
      }
      if (is_there) {
#pragma unroll
        for (int j = 0; j < PER; j += VEC) {
          const Lot<float, VEC> some = *reinterpret_cast<const Lot<float, VEC>*>(from + lane * PER + j);
          const Lot<float, VEC> others = *reinterpret_cast<const Lot<float, VEC>*>(from + 16 + lane * PER + j);
#pragma unroll
          for (int v = 0; v < VEC; ++v) {
            lower[j + v] = some.at[v];
            upper[j + v] = others.at[v];
          }
        }
      }
      float most = 0.f, peak = 0.f;
      int at = 32;
#pragma unroll
      for (int j = 0; j < PER; ++j) {
        if (fabsf(lower[j]) > most) {
          most = fabsf(lower[j]);
          peak = lower[j];
          at = lane * PER + j;
        }
      }
#pragma unroll
      for (int j = 0; j < PER; ++j) {
        if (fabsf(upper[j]) > most) {
          most = fabsf(upper[j]);
          peak = upper[j];
          at = 16 + lane * PER + j;
        }
      }
#pragma unroll
      for (int offset = LANES / 2; offset > 0; offset /= 2) {
        const float other_most = __shfl_xor_sync(0xffffffffu, most, offset);
        const float other_peak = __shfl_xor_sync(0xffffffffu, peak, offset);
        const int other_at = __shfl_xor_sync(0xffffffffu, at, offset);
        if (other_most > most || (other_most == most && other_at < at)) {
          most = other_most;
          peak = other_peak;
          at = other_at;
        }
      }
      const float scale = peak / -16.f;
      const float inverse = scale != 0.f ? 1.f / scale : 0.f;
      const long long place = static_cast<long long>(row) * blocks + number;
      unsigned fifths = 0u;
#pragma unroll
      for (int j = 0; j < PER; j += VEC) {
        Lot<unsigned char, VEC> bytes;
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          const int first = level_of(lower[j + v], inverse), second = level_of(upper[j + v], inverse);
          bytes.at[v] = static_cast<unsigned char>((first & 15) | (second & 15) << 4);
          fifths |= static_cast<unsigned>((first & 16) >> 4) << (lane * PER + j + v);
          fifths |= static_cast<unsigned>((second & 16) >> 4) << (lane * PER + j + v + 16);
        }
        if (is_there)
          *reinterpret_cast<Lot<unsigned char, VEC>*>(low + place * 16 + lane * PER + j) = bytes;
      }
#pragma unroll
      for (int offset = LANES / 2; offset > 0; offset /= 2)
        fifths |= __shfl_xor_sync(0xffffffffu, fifths, offset);
      if (is_there && lane == 0) {
        scales[place] = __float2half_rn(scale);
        high[place] = fifths;
      }
    }
  }
}
