// Two sorted lists of keys become one; of equal keys those of a come first. places: where each came from, b's behind a's.
__global__ void join_kernel(int* __restrict__ out_keys, int* __restrict__ out_places, const int* __restrict__ a, const int* __restrict__ b,
                            const int na, const int nb) {
  const int total = na + nb;
  const int first = (blockIdx.x * 128 + threadIdx.x) * 4;
  if (first >= total)
    return;
  int low = max(0, first - nb), high = min(first, na);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[first - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  int i = low, j = first - low;
  for (int k = 0; k < 4 && first + k < total; ++k) {
    const bool from_a = j >= nb || (i < na && a[i] <= b[j]);
    out_keys[first + k] = from_a ? a[i] : b[j];
    out_places[first + k] = from_a ? i : na + j;
    i += from_a;
    j += !from_a;
  }
}
