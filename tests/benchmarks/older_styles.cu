// Kernels written as CUDA's first ones were: variables declared first and set later, while loops over the
// whole grid, numbers of threads by functions of one expression, borders in the guard, sparse rows. Single
// precision, an element or a row a thread.

__device__ inline int thread_number() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void axpy_whole_grid(float* y, const float* x, float a, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  while (i < n) {
    y[i] = a * x[i] + y[i];
    i += blockDim.x * gridDim.x;
  }
}

__global__ void row_centres(float* y, const float* x, int columns) {
  __shared__ float partial[256];
  int i, row, half;
  float sum;
  row = blockIdx.x;
  sum = 0.0f;
  for (i = threadIdx.x; i < columns; i += blockDim.x)
    sum += x[row * columns + i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (half = blockDim.x / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half)
      partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  for (i = threadIdx.x; i < columns; i += blockDim.x)
    y[row * columns + i] = x[row * columns + i] - partial[0] / columns;
}

__global__ void diffuse(float* next, const float* now, float rate, int width, int height) {
  int x, y, at;
  x = blockIdx.x * blockDim.x + threadIdx.x;
  y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
    at = y * width + x;
    next[at] =
        now[at] + rate * (now[at - 1] + now[at + 1] + now[at - width] + now[at + width] - 4.0f * now[at]);
  }
}

__global__ void sparse_rows(float* y, const int* starts, const int* columns, const float* values,
                            const float* x, int rows) {
  int row, j, start, end;
  float sum;
  row = thread_number();
  if (row < rows) {
    start = starts[row];
    end = starts[row + 1];
    sum = 0.0f;
    for (j = start; j < end; j++)
      sum += values[j] * x[columns[j]];
    y[row] = sum;
  }
}

void run(float* y, const float* x, const int* starts, const int* columns_of, const float* values, float a,
         int n, int rows, int columns, int width, int height, cudaStream_t stream) {
  dim3 threads(16, 16), blocks((width + 15) / 16, (height + 15) / 16);
  axpy_whole_grid<<<512, 256, 0, stream>>>(y, x, a, n);
  row_centres<<<rows, 256, 0, stream>>>(y, x, columns);
  diffuse<<<blocks, threads, 0, stream>>>(y, x, a, width, height);
  sparse_rows<<<(rows + 127) / 128, 128, 0, stream>>>(y, starts, columns_of, values, x, rows);
}
