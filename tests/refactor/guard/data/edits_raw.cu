// How many letters have to be put in, taken out or changed until a is b: by diagonals, three of which are kept.
__global__ void edits_kernel(int* __restrict__ out, const signed char* __restrict__ a, const signed char* __restrict__ b, const int* __restrict__ la,
                             const int* __restrict__ lb, const int pairs, const int longest) {
  extern __shared__ int rows[];
  const int pair = blockIdx.x;
  const int n = la[pair], m = lb[pair];
  const signed char *x = a + static_cast<long long>(pair) * longest, *y = b + static_cast<long long>(pair) * longest;
  int *before = rows, *last = rows + longest + 1, *now = rows + 2 * (longest + 1);
  for (int d = 0; d <= n + m; ++d) {
    for (int i = max(0, d - m) + threadIdx.x; i <= min(d, n); i += 64) {
      const int j = d - i;
      int best;
      if (i == 0)
        best = j;
      else if (j == 0)
        best = i;
      else
        best = min(min(last[i - 1], last[i]) + 1, before[i - 1] + (x[i - 1] != y[j - 1]));
      now[i] = best;
    }
    __syncthreads();
    int* next = before;
    before = last;
    last = now;
    now = next;
  }
  if (threadIdx.x == 0)
    out[pair] = last[n];
}
