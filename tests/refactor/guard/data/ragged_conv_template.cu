// Causal convolution over four tokens, each channel by itself, of ragged sequences. A thread takes VEC neighbouring channels of ROUNDS
// times TOKENS tokens one after the other and keeps the three before in registers. Where a token's sequence begins is looked for once
// and followed from there, or, with STAGE, looked for by one thread a token for the whole block. Blocks go round where there are more
// channels than a grid is wide.
#include <cuda_bf16.h>

template <int VEC>
struct alignas(2 * VEC) Channels {
  __nv_bfloat16 at[VEC];
};

__device__ __forceinline__ int sequence_of(const int* __restrict__ starts, const int sequences, const int token) {
  int low = 0, high = sequences;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (starts[middle] <= token)
      low = middle;
    else
      high = middle;
  }
  return low;
}

template <int BLOCK, int VEC, int TOKENS, int ROUNDS, int STAGE>
__global__ void ragged_conv_kernel(__nv_bfloat16* __restrict__ out, const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ weight,
                                   const __nv_bfloat16* __restrict__ bias, const int* __restrict__ starts, const int sequences, const int tokens,
                                   const int channels, const long long x_stride, const long long out_stride, const bool silu) {
  __shared__ int begins[TOKENS];
  const int thread = threadIdx.x;
  const int first = blockIdx.x * (TOKENS * ROUNDS);
  for (int strip = blockIdx.y; static_cast<long long>(strip) * (BLOCK * VEC) < channels; strip += gridDim.y) {
    const int c = (strip * BLOCK + thread) * VEC;
    const bool is_there = c < channels;
    float taps[VEC][4], added[VEC], before[3][VEC];
#pragma unroll
    for (int v = 0; v < VEC; ++v) {
      added[v] = is_there && bias != nullptr ? __bfloat162float(bias[c + v]) : 0.f;
#pragma unroll
      for (int k = 0; k < 4; ++k)
        taps[v][k] = is_there ? __bfloat162float(weight[(c + v) * 4 + k]) : 0.f;
    }
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const int from = first - 3 + j;
      if (is_there && from >= 0) {
        const Channels<VEC> part = *reinterpret_cast<const Channels<VEC>*>(x + from * x_stride + c);
#pragma unroll
        for (int v = 0; v < VEC; ++v)
          before[j][v] = __bfloat162float(part.at[v]);
      } else {
#pragma unroll
        for (int v = 0; v < VEC; ++v)
          before[j][v] = 0.f;
      }
    }
    int sequence = STAGE ? 0 : sequence_of(starts, sequences, first);
    for (int round = 0; round < ROUNDS; ++round) {
      const int tile = first + round * TOKENS;
      if (STAGE) {
        __syncthreads();
        if (thread < TOKENS && tile + thread < tokens)
          begins[thread] = starts[sequence_of(starts, sequences, tile + thread)];
        __syncthreads();
      }
      if (is_there) {
#pragma unroll
        for (int i = 0; i < TOKENS; ++i) {
          const int token = tile + i;
          if (token < tokens) {
            int start = 0;
            if (STAGE) {
              start = begins[i];
            } else {
              while (sequence + 1 < sequences && starts[sequence + 1] <= token)
                ++sequence;
              start = starts[sequence];
            }
            const Channels<VEC> part = *reinterpret_cast<const Channels<VEC>*>(x + token * x_stride + c);
            Channels<VEC> result;
#pragma unroll
            for (int v = 0; v < VEC; ++v) {
              const float value = __bfloat162float(part.at[v]);
              float sum = added[v];
              if (token - 3 >= start)
                sum += taps[v][0] * before[0][v];
              if (token - 2 >= start)
                sum += taps[v][1] * before[1][v];
              if (token - 1 >= start)
                sum += taps[v][2] * before[2][v];
              if (token >= start)
                sum += taps[v][3] * value;
              if (silu)
                sum = sum / (1.f + expf(-sum));
              result.at[v] = __float2bfloat16_rn(sum);
              before[0][v] = before[1][v];
              before[1][v] = before[2][v];
              before[2][v] = value;
            }
            *reinterpret_cast<Channels<VEC>*>(out + token * out_stride + c) = result;
          }
        }
      }
    }
  }
}
