// out[row][i] = in[row][i] * weight[i], and a launcher with numbers that somebody chose one afternoon.
#include <cuda_fp16.h>

template <typename T>
__global__ void scale_rows_kernel(T* __restrict__ out, const T* __restrict__ in, const T* __restrict__ weight,
                                  int columns) {
  const long long row = blockIdx.x;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    out[row * columns + i] =
        static_cast<T>(static_cast<float>(in[row * columns + i]) * static_cast<float>(weight[i]));
}

void scale_rows(__half* out, const __half* in, const __half* weight, int rows, int columns,
                cudaStream_t stream) {
  scale_rows_kernel<__half><<<rows, 256, 0, stream>>>(out, in, weight, columns);
}
