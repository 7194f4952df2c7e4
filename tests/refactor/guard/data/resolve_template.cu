// Tokens that are below zero stand for what their slot of a table holds: those are replaced in place. A thread's place
// is a number of 32 bits, whatever the length is.
template <int BLOCK>
__global__ void resolve_kernel(int* __restrict__ tokens, const int* __restrict__ table, const unsigned long long n) {
  const unsigned long long i = blockIdx.x * static_cast<unsigned>(BLOCK) + threadIdx.x;
  if (i < n) {
    const int token = tokens[i];
    if (token < 0)
      tokens[i] = table[-token];
  }
}
