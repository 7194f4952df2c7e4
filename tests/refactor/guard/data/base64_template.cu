// Base64 with padding: three bytes become four letters, ITEMS times a thread; with TABLE letters are looked up in shared memory.
__device__ unsigned char letter(const unsigned v) {
  return static_cast<unsigned char>(v < 26u ? 'A' + v : v < 52u ? 'a' + (v - 26u) : v < 62u ? '0' + (v - 52u) : v == 62u ? '+' : '/');
}
template <int BLOCK, int ITEMS, int TABLE>
__global__ void base64_kernel(unsigned char* __restrict__ out, const unsigned char* __restrict__ in, const int n) {
  __shared__ unsigned char table[TABLE ? 64 : 1];
  if constexpr (TABLE) {
    for (unsigned i = threadIdx.x; i < 64u; i += BLOCK)
      table[i] = letter(i);
    __syncthreads();
  }
  const auto of = [&](const unsigned v) -> unsigned char {
    if constexpr (TABLE)
      return table[v];
    else
      return letter(v);
  };
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const long long from = 3ll * ((static_cast<long long>(blockIdx.x) * ITEMS + item) * BLOCK + threadIdx.x);
    if (from >= n)
      return;
    unsigned char* to = out + from / 3 * 4;
    const unsigned second = from + 1 < n ? in[from + 1] : 0u, third = from + 2 < n ? in[from + 2] : 0u;
    const unsigned all = static_cast<unsigned>(in[from]) << 16 | second << 8 | third;
    to[0] = of(all >> 18);
    to[1] = of(all >> 12 & 63u);
    to[2] = from + 1 < n ? of(all >> 6 & 63u) : '=';
    to[3] = from + 2 < n ? of(all & 63u) : '=';
  }
}
