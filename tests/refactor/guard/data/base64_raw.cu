// Base64 with padding: a thread's three bytes become four letters.
__device__ unsigned char letter(const unsigned v) {
  return static_cast<unsigned char>(v < 26u ? 'A' + v : v < 52u ? 'a' + (v - 26u) : v < 62u ? '0' + (v - 52u) : v == 62u ? '+' : '/');
}
__global__ void base64_kernel(unsigned char* __restrict__ out, const unsigned char* __restrict__ in, const int n) {
  const long long from = 3ll * (static_cast<long long>(blockIdx.x) * 128 + threadIdx.x);
  if (from >= n)
    return;
  unsigned char* to = out + from / 3 * 4;
  const unsigned second = from + 1 < n ? in[from + 1] : 0u, third = from + 2 < n ? in[from + 2] : 0u;
  const unsigned all = static_cast<unsigned>(in[from]) << 16 | second << 8 | third;
  to[0] = letter(all >> 18);
  to[1] = letter(all >> 12 & 63u);
  to[2] = from + 1 < n ? letter(all >> 6 & 63u) : '=';
  to[3] = from + 2 < n ? letter(all & 63u) : '=';
}
