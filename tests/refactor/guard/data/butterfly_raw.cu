// The discrete Fourier transform of rows of 2^stages complex numbers, by halves in shared memory; the factors are given.
__global__ void butterfly_kernel(float2* __restrict__ out, const float2* __restrict__ in, const float2* __restrict__ factors, const int stages) {
  extern __shared__ float2 row[];
  const int n = 1 << stages;
  const long long first = static_cast<long long>(blockIdx.x) * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    row[__brev(i) >> (32 - stages)] = in[first + i];
  __syncthreads();
  for (int stage = 0; stage < stages; ++stage) {
    const int half = 1 << stage;
    for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
      const int k = i & (half - 1), at = ((i >> stage) << (stage + 1)) + k;
      const float2 w = factors[k << (stages - 1 - stage)], a = row[at], b = row[at + half];
      const float2 t = make_float2(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
      row[at] = make_float2(a.x + t.x, a.y + t.y);
      row[at + half] = make_float2(a.x - t.x, a.y - t.y);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[first + i] = row[i];
}
