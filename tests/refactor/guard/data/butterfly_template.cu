// The discrete Fourier transform of rows of 2^stages complex numbers, by halves in shared memory; the factors are given. Every
// 32 cells PAD more are left free.
template <int PAD>
__device__ int cell(int i) {
  return PAD == 0 ? i : i + i / 32 * PAD;
}

template <int BLOCK, int PAD, int UNROLL>
__global__ void butterfly_kernel(float2* __restrict__ out, const float2* __restrict__ in, const float2* __restrict__ factors, const int stages) {
  extern __shared__ float2 row[];
  const int n = 1 << stages;
  const long long first = static_cast<long long>(blockIdx.x) * n;
  for (int i = threadIdx.x; i < n; i += BLOCK)
    row[cell<PAD>(__brev(i) >> (32 - stages))] = in[first + i];
  __syncthreads();
  for (int stage = 0; stage < stages; ++stage) {
    const int half = 1 << stage;
#pragma unroll UNROLL
    for (int i = threadIdx.x; i < n / 2; i += BLOCK) {
      const int k = i & (half - 1), at = ((i >> stage) << (stage + 1)) + k;
      const float2 w = factors[k << (stages - 1 - stage)], a = row[cell<PAD>(at)], b = row[cell<PAD>(at + half)];
      const float2 t = make_float2(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
      row[cell<PAD>(at)] = make_float2(a.x + t.x, a.y + t.y);
      row[cell<PAD>(at + half)] = make_float2(a.x - t.x, a.y - t.y);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += BLOCK)
    out[first + i] = row[cell<PAD>(i)];
}
