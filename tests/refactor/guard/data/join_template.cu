// Two sorted lists of keys become one; of equal keys those of a come first. ITEMS a thread; STAGED: by way of shared memory.
__device__ __forceinline__ int split(const int* a, const int* b, const int na, const int nb, const int at) {
  int low = max(0, at - nb), high = min(at, na);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[at - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <int BLOCK, int ITEMS, int STAGED>
__global__ void join_kernel(int* __restrict__ out_keys, int* __restrict__ out_places, const int* __restrict__ a, const int* __restrict__ b,
                            const int na, const int nb) {
  const int total = na + nb;
  if constexpr (STAGED) {
    constexpr int TILE = BLOCK * ITEMS;
    __shared__ int keys[TILE];
    __shared__ int ends[2];
    const int begin = blockIdx.x * TILE, end = min(begin + TILE, total);
    if (threadIdx.x < 2)
      ends[threadIdx.x] = split(a, b, na, nb, threadIdx.x == 0 ? begin : end);
    __syncthreads();
    const int a0 = ends[0], b0 = begin - a0;
    const int la = ends[1] - a0, lb = end - begin - la;
    for (int k = threadIdx.x; k < la + lb; k += BLOCK)
      keys[k] = k < la ? a[a0 + k] : b[b0 + k - la];
    __syncthreads();
    const int first = threadIdx.x * ITEMS;
    if (first >= la + lb)
      return;
    int i = split(keys, keys + la, la, lb, first), j = first - i;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (first + k >= la + lb)
        break;
      const bool from_a = j >= lb || (i < la && keys[i] <= keys[la + j]);
      out_keys[begin + first + k] = from_a ? keys[i] : keys[la + j];
      out_places[begin + first + k] = from_a ? a0 + i : na + b0 + j;
      i += from_a;
      j += !from_a;
    }
  } else {
    const int first = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
    if (first >= total)
      return;
    int i = split(a, b, na, nb, first), j = first - i;
    for (int k = 0; k < ITEMS && first + k < total; ++k) {
      const bool from_a = j >= nb || (i < na && a[i] <= b[j]);
      out_keys[first + k] = from_a ? a[i] : b[j];
      out_places[first + k] = from_a ? i : na + j;
      i += from_a;
      j += !from_a;
    }
  }
}
