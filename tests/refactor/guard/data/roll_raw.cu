// Moves each row's numbers to the right by its own shift, and rows downwards, round the end; shifts may be negative and long.
__global__ void roll_kernel(float* __restrict__ out, const float* __restrict__ in, const int* __restrict__ shift, const int rows, const int columns,
                            const int down) {
  const int c = blockIdx.x * 128 + threadIdx.x, r = blockIdx.y;
  if (c >= columns)
    return;
  int from = (c - shift[r]) % columns;
  if (from < 0)
    from += columns;
  int row = (r - down) % rows;
  if (row < 0)
    row += rows;
  out[static_cast<long long>(r) * columns + c] = in[static_cast<long long>(row) * columns + from];
}
