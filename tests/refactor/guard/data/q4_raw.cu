#include <cuda_fp16.h>
// Blocks of a scale and 32 numbers of four bits: the first 16 in the lower halves of bytes, the others above.
__global__ void q4_kernel(float* __restrict__ out, const unsigned char* __restrict__ data, const int blocks) {
  const long long i = static_cast<long long>(blockIdx.x) * 128 + threadIdx.x;
  const long long block = i / 16;
  const int place = i % 16;
  if (block >= blocks)
    return;
  const unsigned char* packed = data + block * 18;
  const float scale = __half2float(*reinterpret_cast<const __half*>(packed));
  const unsigned char both = packed[2 + place];
  out[block * 32 + place] = ((both & 0xf) - 8) * scale;
  out[block * 32 + 16 + place] = ((both >> 4) - 8) * scale;
}
