// Causal convolution over four tokens, each channel by itself, of sequences that lie one behind the other from starts[s] to
// starts[s + 1] and do not see each other; what would lie before a sequence's first token has no part in the sum. With a bias, where
// there is one, and SiLU, where that is wanted.
#include <cuda_bf16.h>

__global__ void ragged_conv_kernel(__nv_bfloat16* __restrict__ out, const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ weight,
                                   const __nv_bfloat16* __restrict__ bias, const int* __restrict__ starts, const int sequences, const int tokens,
                                   const int channels, const long long x_stride, const long long out_stride, const bool silu) {
  const int token = blockIdx.x, c = blockIdx.y * 128 + threadIdx.x;
  if (token >= tokens || c >= channels)
    return;
  int low = 0, high = sequences;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (starts[middle] <= token)
      low = middle;
    else
      high = middle;
  }
  const int start = starts[low];
  float sum = bias != nullptr ? __bfloat162float(bias[c]) : 0.f;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int from = token - 3 + k;
    if (from >= start)
      sum += __bfloat162float(weight[c * 4 + k]) * __bfloat162float(x[from * x_stride + c]);
  }
  if (silu)
    sum = sum / (1.f + expf(-sum));
  out[token * out_stride + c] = __float2bfloat16_rn(sum);
}
