// Sums of the columns of each plane of a box, in double precision and with 64-bit indices: one thread a column.
template <int UNROLL>
__global__ void wide_kernel(float* out, const float* in, const long long depth, const int height, const int width) {
  const long long columns = (long long)height * width;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += (long long)gridDim.x * blockDim.x) {
    double sum = 0;
#pragma unroll UNROLL
    for (long long z = 0; z < depth; z += 1)
      sum += in[z * columns + i];
    out[i % width * height + i / width] = (float)sum;
  }
}
