// Groups of 32 numbers one behind the other, from rows that lie `stride` apart: one warp a group, whose row, part and
// place in the part are what divisions leave.
__global__ void regroup_kernel(float* __restrict__ out, const float* __restrict__ x, const long long groups, const int inner,
                               const int outer, const long long stride) {
  const long long group = static_cast<long long>(blockIdx.x) * 4 + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (group < groups) {
    const int place = group % inner;
    const long long above = group / inner;
    const int part = above % outer;
    const long long row = above / outer;
    out[group * 32 + lane] = x[row * stride + part * 32 * inner + place * 32 + lane];
  }
}
