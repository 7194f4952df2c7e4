// Groups of 32 numbers one behind the other, from rows that lie `stride` apart: one warp a group, whose row, part and
// place in the part are what divisions leave. ROWS raw blocks a block; OUTER: the number of parts, 0 where it is not known.
template <int ROWS, int OUTER>
__global__ void regroup_kernel(float* __restrict__ out, const float* __restrict__ x, const long long groups, const int inner,
                               const int outer, const long long stride) {
  const int lane = threadIdx.x % 32;
  const int parts = OUTER == 0 ? outer : OUTER;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const long long group = (static_cast<long long>(blockIdx.x) * ROWS + r) * 4 + threadIdx.x / 32;
    if (group < groups) {
      const int place = group % inner;
      const long long above = group / inner;
      const int part = above % parts;
      const long long row = above / parts;
      out[group * 32 + lane] = x[row * stride + part * 32 * inner + place * 32 + lane];
    }
  }
}
