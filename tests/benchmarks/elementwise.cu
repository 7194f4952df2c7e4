// Elementwise kernels as they are written first: an element at a time. elementwise_results.py measures what a
// vector width gives them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

// A thread takes every so many elements of the whole array.
__global__ void axpy(float* y, const float* x, float a, int64_t n) {
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
       i += (int64_t)gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}

// A block takes a row.
__global__ void bias_relu(__half* values, const __half* bias, int columns) {
  __half* row = values + (int64_t)blockIdx.x * columns;
  for (int column = threadIdx.x; column < columns; column += blockDim.x) {
    const float value = __half2float(row[column]) + __half2float(bias[column]);
    row[column] = __float2half(value > 0.f ? value : 0.f);
  }
}

__global__ void row_squares(float* sums, const __nv_bfloat16* values, int columns) {
  __shared__ float partial[32];
  const __nv_bfloat16* row = values + (int64_t)blockIdx.x * columns;
  float sum = 0.f;
  for (int column = threadIdx.x; column < columns; column += blockDim.x) {
    const float value = __bfloat162float(row[column]);
    sum += value * value;
  }
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.f;
    for (int offset = 16; offset > 0; offset /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0)
      sums[blockIdx.x] = sum;
  }
}

// Two passes over a row.
__global__ void norm_rows(__nv_bfloat16* __restrict__ out, const __nv_bfloat16* __restrict__ in,
                          const __nv_bfloat16* __restrict__ weight, int columns, float epsilon) {
  __shared__ float partial[32];
  const int64_t first = (int64_t)blockIdx.x * columns;
  float sum = 0.f;
  for (int column = threadIdx.x; column < columns; column += blockDim.x) {
    const float value = __bfloat162float(in[first + column]);
    sum += value * value;
  }
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : 0.f;
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  const float scale = rsqrtf(sum / columns + epsilon);
  for (int column = threadIdx.x; column < columns; column += blockDim.x)
    out[first + column] =
        __float2bfloat16(__bfloat162float(in[first + column]) * scale * __bfloat162float(weight[column]));
}

// A thread takes one element.
__global__ void scale_add(__nv_bfloat16* out, const __nv_bfloat16* a, const __nv_bfloat16* b, float alpha,
                          int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  out[i] = __float2bfloat16(alpha * __bfloat162float(a[i]) + __bfloat162float(b[i]));
}

__global__ void gelu(float* __restrict__ out, const float* __restrict__ in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float x = in[i];
    out[i] = 0.5f * x * (1.f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
  }
}

__global__ void residual_rows(__half* sum, const __half* values, const __half* scale, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y;
  if (column >= columns || row >= rows)
    return;
  const int at = row * columns + column;
  sum[at] = __float2half(__half2float(sum[at]) + __half2float(values[at]) * __half2float(scale[column]));
}

void run(float* y, const float* x, __half* h, const __half* g, const __nv_bfloat16* b, __nv_bfloat16* o,
         float a, int64_t n, int rows, int columns, int count, cudaStream_t stream) {
  axpy<<<1024, 256, 0, stream>>>(y, x, a, n);
  bias_relu<<<rows, 256, 0, stream>>>(h, g, columns);
  row_squares<<<rows, 256, 0, stream>>>(y, b, columns);
  norm_rows<<<rows, 256, 0, stream>>>(o, b, b, columns, 1e-6f);
  scale_add<<<(count + 255) / 256, 256, 0, stream>>>(o, b, b, a, count);
  gelu<<<(count + 255) / 256, 256, 0, stream>>>(y, x, count);
  residual_rows<<<dim3((columns + 255) / 256, rows), 256, 0, stream>>>(h, g, g, rows, columns);
}
