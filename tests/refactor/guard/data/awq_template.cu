#include <cuda_fp16.h>
// Weights of four bits with a scale and a zero point for every group of rows, eight to a word in the interleaved order, become halves.
// A thread does ROWS rows of one word and keeps scales and zero points while the group stays; it stores VEC halves at once.
template <int VEC>
struct alignas(VEC * 2) Halves {
  __half of[VEC];
};

template <int BLOCK, int ROWS, int VEC, int AHEAD>
__global__ void awq_kernel(__half* out, const unsigned int* packed, const unsigned int* zeros, const __half* scales, const int rows, const int words, const int group) {
  const int word = blockIdx.x * BLOCK + threadIdx.x;
  const int begin = blockIdx.y * ROWS;
  const int end = min(rows, begin + ROWS);
  if (word >= words)
    return;
  int held = -1;
  unsigned int points = 0;
  __half scale[8];
  unsigned int next = AHEAD ? packed[static_cast<long long>(begin) * words + word] : 0;
  for (int row = begin; row < end; ++row) {
    const int which = row / group;
    if (which != held) {
      points = zeros[static_cast<long long>(which) * words + word];
      const Halves<VEC>* from = reinterpret_cast<const Halves<VEC>*>(scales + (static_cast<long long>(which) * words + word) * 8);
#pragma unroll
      for (int v = 0; v < 8 / VEC; ++v) {
        const Halves<VEC> part = from[v];
#pragma unroll
        for (int e = 0; e < VEC; ++e)
          scale[v * VEC + e] = part.of[e];
      }
      held = which;
    }
    unsigned int quants;
    if constexpr (AHEAD) {
      quants = next;
      if (row + 1 < end)
        next = packed[static_cast<long long>(row + 1) * words + word];
    } else {
      quants = packed[static_cast<long long>(row) * words + word];
    }
    Halves<VEC>* result = reinterpret_cast<Halves<VEC>*>(out + (static_cast<long long>(row) * words + word) * 8);
#pragma unroll
    for (int v = 0; v < 8 / VEC; ++v) {
      Halves<VEC> part;
#pragma unroll
      for (int e = 0; e < VEC; ++e) {
        const int j = v * VEC + e;
        const int shift = 16 * (j % 2) + 4 * (j / 2);
        const int value = static_cast<int>(quants >> shift & 15) - static_cast<int>(points >> shift & 15);
        part.of[e] = __hmul(__int2half_rn(value), scale[j]);
      }
      result[v] = part;
    }
  }
}
