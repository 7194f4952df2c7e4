// Solves many tridiagonal systems of n equations by elimination without pivoting. A thread has VEC neighbouring systems and AHEAD
// equations of each under way; multipliers and right sides of the last KEEP equations wait in shared memory for the way back.
template <int VEC>
struct alignas(VEC * 4) Systems {
  float at[VEC];
};

template <int BLOCK, int VEC, int AHEAD, int KEEP>
__global__ void __launch_bounds__(BLOCK) thomas_kernel(float* __restrict__ rhs, float* __restrict__ upper, int* __restrict__ info,
                                                       const float* __restrict__ lower, const float* __restrict__ diag, const int systems,
                                                       const int n, const long long stride, const float tiny) {
  using Pack = Systems<VEC>;
  constexpr int KEPT = KEEP > 0 ? KEEP : 1;
  __shared__ Pack kept_c[KEPT][KEEP > 0 ? BLOCK : 1];
  __shared__ Pack kept_d[KEPT][KEEP > 0 ? BLOCK : 1];
  const int system = (blockIdx.x * BLOCK + threadIdx.x) * VEC;
  if (system >= systems)
    return;
  Pack c, d;
  int bad[VEC];
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    c.at[v] = 0.f;
    d.at[v] = 0.f;
    bad[v] = 0;
  }
  for (int first = 0; first < n; first += AHEAD) {
    Pack a[AHEAD], b[AHEAD], u[AHEAD], r[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) {
      const int i = first + k;
      if (i < n) {
        const long long at = static_cast<long long>(i) * stride + system;
        if (i > 0)
          a[k] = *reinterpret_cast<const Pack*>(lower + at);
        b[k] = *reinterpret_cast<const Pack*>(diag + at);
        r[k] = *reinterpret_cast<const Pack*>(rhs + at);
        if (i + 1 < n)
          u[k] = *reinterpret_cast<const Pack*>(upper + at);
      }
    }
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) {
      const int i = first + k;
      if (i < n) {
        const long long at = static_cast<long long>(i) * stride + system;
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          float pivot = b[k].at[v], right = r[k].at[v];
          if (i > 0) {
            pivot = fmaf(-a[k].at[v], c.at[v], pivot);
            right = fmaf(-a[k].at[v], d.at[v], right);
          }
          if (fabsf(pivot) < tiny) {
            pivot = copysignf(tiny, pivot);
            if (bad[v] == 0)
              bad[v] = i + 1;
          }
          d.at[v] = right / pivot;
          c.at[v] = i + 1 < n ? u[k].at[v] / pivot : 0.f;
        }
        if (i + 1 < n)
          *reinterpret_cast<Pack*>(upper + at) = c;
        if constexpr (KEEP > 0) {
          kept_c[i % KEPT][threadIdx.x] = c;
          kept_d[i % KEPT][threadIdx.x] = d;
        }
        if (KEEP == 0 || i < n - KEEP)
          *reinterpret_cast<Pack*>(rhs + at) = d;
      }
    }
  }
#pragma unroll
  for (int v = 0; v < VEC; ++v)
    info[system + v] = bad[v];
  if constexpr (KEEP > 0)
    *reinterpret_cast<Pack*>(rhs + static_cast<long long>(n - 1) * stride + system) = d;
  for (int last = n - 2; last >= 0; last -= AHEAD) {
    Pack cs[AHEAD], ds[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) {
      const int i = last - k;
      if (i >= 0) {
        bool is_kept = false;
        if constexpr (KEEP > 0) {
          is_kept = i >= n - KEEP;
          if (is_kept) {
            cs[k] = kept_c[i % KEPT][threadIdx.x];
            ds[k] = kept_d[i % KEPT][threadIdx.x];
          }
        }
        if (!is_kept) {
          const long long at = static_cast<long long>(i) * stride + system;
          cs[k] = *reinterpret_cast<const Pack*>(upper + at);
          ds[k] = *reinterpret_cast<const Pack*>(rhs + at);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) {
      const int i = last - k;
      if (i >= 0) {
#pragma unroll
        for (int v = 0; v < VEC; ++v)
          d.at[v] = fmaf(-cs[k].at[v], d.at[v], ds[k].at[v]);
        *reinterpret_cast<Pack*>(rhs + static_cast<long long>(i) * stride + system) = d;
      }
    }
  }
}
