// out = relu(a * b + c) in sixteen bits; c is a row that repeats. PAIRS times two at once where addresses and columns are even.
#include <cuda_fp16.h>

template <int BLOCK, int PAIRS>
__global__ void halves_kernel(__half* __restrict__ out, const __half* __restrict__ a, const __half* __restrict__ b, const __half* __restrict__ c, const int count, const int columns) {
  if constexpr (PAIRS == 0) {
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count)
      out[i] = __hmax(__hfma(a[i], b[i], c[i % columns]), __float2half(0.f));
  } else {
    const unsigned long long places = reinterpret_cast<unsigned long long>(out) | reinterpret_cast<unsigned long long>(a) |
                                      reinterpret_cast<unsigned long long>(b) | reinterpret_cast<unsigned long long>(c);
    const bool even = columns % 2 == 0 && places % sizeof(__half2) == 0;
    const int first = (blockIdx.x * BLOCK + threadIdx.x) * PAIRS * 2;
    for (int i = first; i < first + PAIRS * 2 && i < count; i += 2)
      if (i + 1 < count && even) {
        const __half2 x = *reinterpret_cast<const __half2*>(a + i), y = *reinterpret_cast<const __half2*>(b + i);
        const __half2 z = *reinterpret_cast<const __half2*>(c + i % columns);
        *reinterpret_cast<__half2*>(out + i) = __hmax2(__hfma2(x, y, z), __float2half2_rn(0.f));
      } else {
        out[i] = __hmax(__hfma(a[i], b[i], c[i % columns]), __float2half(0.f));
        if (i + 1 < count)
          out[i + 1] = __hmax(__hfma(a[i + 1], b[i + 1], c[(i + 1) % columns]), __float2half(0.f));
      }
  }
}
