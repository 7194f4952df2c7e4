// Moves each row's numbers to the right by its own shift, and rows downwards, round the end; shifts may be negative and long.
template <int BLOCK, int VEC, int ROWS>
__global__ void roll_kernel(float* __restrict__ out, const float* __restrict__ in, const int* __restrict__ shift, const int rows, const int columns,
                            const int down) {
  const int first = (blockIdx.x * BLOCK + threadIdx.x) * VEC;
  for (int k = 0; k < ROWS; ++k) {
    const int r = blockIdx.y * ROWS + k;
    if (r >= rows)
      return;
    int row = (r - down) % rows;
    if (row < 0)
      row += rows;
    const int by = shift[r];
    for (int v = 0; v < VEC; ++v) {
      const int c = first + v;
      if (c >= columns)
        break;
      int from = (c - by) % columns;
      if (from < 0)
        from += columns;
      out[static_cast<long long>(r) * columns + c] = in[static_cast<long long>(row) * columns + from];
    }
  }
}
