// Solves many tridiagonal systems of n equations by elimination without pivoting, a thread a system. Equation i of system s lies at
// i * stride + s. Solutions take the place of the right sides, and the multipliers of the sweep down that of the upper diagonal but for
// its last element, which counts for nothing. A pivot nearer to zero than `tiny` is replaced; info tells the first such equation, from
// 1, or 0.
__global__ void __launch_bounds__(128) thomas_kernel(float* __restrict__ rhs, float* __restrict__ upper, int* __restrict__ info,
                                                     const float* __restrict__ lower, const float* __restrict__ diag, const int systems,
                                                     const int n, const long long stride, const float tiny) {
  const int system = blockIdx.x * 128 + threadIdx.x;
  if (system >= systems)
    return;
  long long at = system;
  float c = 0.f, d = 0.f;
  int bad = 0;
  for (int i = 0; i < n; ++i) {
    float pivot = diag[at], right = rhs[at];
    if (i > 0) {
      const float a = lower[at];
      pivot = fmaf(-a, c, pivot);
      right = fmaf(-a, d, right);
    }
    if (fabsf(pivot) < tiny) {
      pivot = copysignf(tiny, pivot);
      if (bad == 0)
        bad = i + 1;
    }
    d = right / pivot;
    rhs[at] = d;
    if (i + 1 < n) {
      c = upper[at] / pivot;
      upper[at] = c;
      at += stride;
    }
  }
  info[system] = bad;
  for (int i = n - 2; i >= 0; --i) {
    at -= stride;
    d = fmaf(-upper[at], d, rhs[at]);
    rhs[at] = d;
  }
}
