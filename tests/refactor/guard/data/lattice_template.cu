// A step of the lattice Boltzmann method with nine directions a cell (0 rests; 1 east, 2 north, 3 west, 4 south; 5 north-east, 6 north-west,
// 7 south-west, 8 south-east). A block has BLOCK columns and TY * ROWS rows, a thread every TY-th of these. Where STAGED, which of the block's cells
// and of those around them send nothing is kept in shared memory; where CLEAR, nobody asks in blocks that have no such cell.
template <int BLOCK, int TY, int ROWS, int STAGED, int CLEAR>
__global__ void __launch_bounds__(BLOCK * TY) lattice_kernel(float* __restrict__ next, const float* __restrict__ now, const unsigned char* __restrict__ solid,
                                                             const int width, const int height, const long long plane, const float omega, const float lid) {
  constexpr int SPAN = BLOCK + 2, DEPTH = TY * ROWS + 2;
  __shared__ bool walls[STAGED != 0 ? DEPTH : 1][STAGED != 0 ? SPAN : 1];
  const int x0 = blockIdx.x * BLOCK, y0 = blockIdx.y * (TY * ROWS);
  int found = 1;
  if constexpr (STAGED != 0) {
    int own_finds = 0;
    for (int i = threadIdx.y * BLOCK + threadIdx.x; i < DEPTH * SPAN; i += BLOCK * TY) {
      const int ty = i / SPAN, tx = i % SPAN;
      const int sy = y0 + ty - 1;
      const unsigned column = static_cast<unsigned>(x0) + tx;
      const int sx = column == 0 ? width - 1 : (column - 1) % width;
      const bool outside = sy < 0 || sy >= height;
      const bool wall = outside || solid[static_cast<long long>(sy) * width + sx] != 0;
      walls[ty][tx] = wall;
      own_finds |= wall && !outside;
    }
    if constexpr (CLEAR != 0) {
      const bool at_edge = y0 == 0 || y0 + TY * ROWS >= height;
      found = __syncthreads_or(own_finds) != 0 || at_edge;
    } else {
      __syncthreads();
    }
  }
  const int x = x0 + threadIdx.x;
  if (x >= width)
    return;
  const int west = x == 0 ? width - 1 : x - 1, east = x == width - 1 ? 0 : x + 1;
  const float push = lid / 6.f;
  for (int r = 0; r < ROWS; ++r) {
    const int ty = r * TY + threadIdx.y, y = y0 + ty;
    if (y >= height)
      return;
    const long long here = static_cast<long long>(y) * width + x;
    const auto blocked = [&](const int sx, const int dx, const int dy) -> bool {
      if constexpr (STAGED != 0) {
        return walls[ty + 1 + dy][static_cast<int>(threadIdx.x) + 1 + dx];
      } else {
        const int sy = y + dy;
        return sy < 0 || sy >= height || solid[static_cast<long long>(sy) * width + sx] != 0;
      }
    };
    if (found != 0 && blocked(x, 0, 0)) {
#pragma unroll
      for (int i = 0; i < 9; ++i)
        next[i * plane + here] = 0.f;
      continue;
    }
    const auto pull = [&](const int number, const int opposite, const int sx, const int dx, const int dy, const float push_back) -> float {
      if (found != 0 && blocked(sx, dx, dy)) {
        const float back = now[opposite * plane + here];
        return y + dy >= height ? back + push_back : back;
      }
      return now[number * plane + static_cast<long long>(y + dy) * width + sx];
    };
    const float f0 = now[here];
    const float f1 = pull(1, 3, west, -1, 0, 0.f);
    const float f2 = pull(2, 4, x, 0, -1, 0.f);
    const float f3 = pull(3, 1, east, 1, 0, 0.f);
    const float f4 = pull(4, 2, x, 0, 1, 0.f);
    const float f5 = pull(5, 7, west, -1, -1, 0.f);
    const float f6 = pull(6, 8, east, 1, -1, 0.f);
    const float f7 = pull(7, 5, east, 1, 1, -push);
    const float f8 = pull(8, 6, west, -1, 1, push);
    const float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
    const float inverse = 1.f / rho;
    const float u = ((f1 + f5 + f8) - (f3 + f6 + f7)) * inverse;
    const float v = ((f2 + f5 + f6) - (f4 + f7 + f8)) * inverse;
    const float base = 1.f - 1.5f * (u * u + v * v);
    const auto relax = [&](const int number, const float f, const float weight, const float c) {
      next[number * plane + here] = f + omega * (weight * rho * (base + c * (3.f + 4.5f * c)) - f);
    };
    relax(0, f0, 4.f / 9.f, 0.f);
    relax(1, f1, 1.f / 9.f, u);
    relax(2, f2, 1.f / 9.f, v);
    relax(3, f3, 1.f / 9.f, -u);
    relax(4, f4, 1.f / 9.f, -v);
    relax(5, f5, 1.f / 36.f, u + v);
    relax(6, f6, 1.f / 36.f, v - u);
    relax(7, f7, 1.f / 36.f, -u - v);
    relax(8, f8, 1.f / 36.f, u - v);
  }
}
