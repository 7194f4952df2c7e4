// A step of the lattice Boltzmann method with nine directions a cell (0 rests; 1 east, 2 north, 3 west, 4 south; 5 north-east, 6 north-west,
// 7 south-west, 8 south-east), each in a plane of its own. A cell pulls what comes towards it, and relaxes it by omega to equilibrium. Right of
// the last column comes the first. What would come from a solid cell, from below the first or from above the last row is what the cell itself sent
// there; the wall above the last row moves by `lid`. A byte that is not zero marks a solid cell, which holds nothing. A thread a cell.
__global__ void __launch_bounds__(128) lattice_kernel(float* __restrict__ next, const float* __restrict__ now, const unsigned char* __restrict__ solid,
                                                      const int width, const int height, const long long plane, const float omega, const float lid) {
  const int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y;
  if (x >= width)
    return;
  const long long here = static_cast<long long>(y) * width + x;
  if (solid[here] != 0) {
    for (int i = 0; i < 9; ++i)
      next[i * plane + here] = 0.f;
    return;
  }
  const int west = x == 0 ? width - 1 : x - 1, east = x == width - 1 ? 0 : x + 1;
  const auto pull = [&](const int number, const int opposite, const int sx, const int dy, const float push) -> float {
    const int sy = y + dy;
    if (sy >= height)
      return now[opposite * plane + here] + push;
    const long long source = static_cast<long long>(sy) * width + sx;
    if (sy < 0 || solid[source] != 0)
      return now[opposite * plane + here];
    return now[number * plane + source];
  };
  const float push = lid / 6.f;
  const float f0 = now[here];
  const float f1 = pull(1, 3, west, 0, 0.f);
  const float f2 = pull(2, 4, x, -1, 0.f);
  const float f3 = pull(3, 1, east, 0, 0.f);
  const float f4 = pull(4, 2, x, 1, 0.f);
  const float f5 = pull(5, 7, west, -1, 0.f);
  const float f6 = pull(6, 8, east, -1, 0.f);
  const float f7 = pull(7, 5, east, 1, -push);
  const float f8 = pull(8, 6, west, 1, push);
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
