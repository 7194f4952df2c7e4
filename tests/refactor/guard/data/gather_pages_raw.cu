// Gathers what a paged cache holds of ragged sequences: rows of sequence s go to the places from starts[s] to starts[s + 1], one
// token a row. Tokens behind a sequence's length, and those of pages that are not there (numbers below zero), are zeros. A warp a
// token.
#include <cuda_bf16.h>

__global__ void gather_pages_kernel(__nv_bfloat16* __restrict__ out, const __nv_bfloat16* __restrict__ cache, const int* __restrict__ table,
                                    const int* __restrict__ starts, const int* __restrict__ lengths, const int page, const int width,
                                    const long long table_stride, const long long page_stride, const long long token_stride) {
  const int sequence = blockIdx.x;
  const int begin = starts[sequence], room = starts[sequence + 1] - begin;
  const int length = min(lengths[sequence], room);
  const int* numbers = table + sequence * table_stride;
  for (int token = blockIdx.y * 4 + threadIdx.y; token < room; token += gridDim.y * 4) {
    __nv_bfloat16* target = out + (static_cast<long long>(begin) + token) * width;
    const int number = token < length ? numbers[token / page] : -1;
    if (number < 0) {
      for (int c = threadIdx.x; c < width; c += 32)
        target[c] = __float2bfloat16(0.f);
      continue;
    }
    const __nv_bfloat16* source = cache + number * page_stride + token % page * token_stride;
    for (int c = threadIdx.x; c < width; c += 32)
      target[c] = source[c];
  }
}
