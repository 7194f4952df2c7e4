// Which of the rows that are still among those asked for have keys that a filter may hold. The filter has buckets of eight words; a key's bucket is the
// upper half of its hash times the number of buckets over 2^32, and it may be held where in each of the first `probes` words the bit is set that the
// lower half of the hash, times the word's factor, names by its upper five bits. A bit a row, and how many of each 1024 rows are hits.
__constant__ unsigned FACTORS[8] = {0x5a1c93e7u, 0x8f4b27d1u, 0xc96e0f35u, 0x37d8a54bu, 0xe2719c8du, 0x1b95f363u, 0x74e36a19u, 0xad0751bfu};

__device__ __forceinline__ unsigned long long hashed(const unsigned long long key, const unsigned long long seed) {
  unsigned long long hash = (key ^ seed) * 0x9c1f0b6d5a3e7245ull;
  hash ^= hash >> 31;
  hash *= 0xc3a5e86b1d972f4bull;
  return hash ^ hash >> 29;
}

__device__ __forceinline__ bool may_hold(const unsigned long long key, const unsigned* filter, const unsigned buckets, const int probes,
                                         const unsigned long long seed) {
  const unsigned long long hash = hashed(key, seed);
  const unsigned lower = static_cast<unsigned>(hash);
  const unsigned bucket = __umulhi(static_cast<unsigned>(hash >> 32), buckets);
  const unsigned* words = filter + static_cast<unsigned long long>(bucket) * 8;
  for (int w = 0; w < probes; ++w)
    if ((words[w] >> (lower * FACTORS[w] >> 27) & 1u) == 0u)
      return false;
  return true;
}

__global__ void bloom_kernel(unsigned* __restrict__ hits, int* __restrict__ counts, const unsigned long long* __restrict__ keys,
                             const unsigned* __restrict__ among, const unsigned* __restrict__ filter, const long long n, const unsigned buckets,
                             const int probes, const unsigned long long seed) {
  __shared__ int found[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int mine = 0;
  for (int k = 0; k < 4; ++k) {
    const long long row = static_cast<long long>(blockIdx.x) * 1024 + k * 256 + threadIdx.x;
    bool hit = false;
    if (row < n && (among[row / 32] >> (row % 32) & 1u) != 0u)
      hit = may_hold(keys[row], filter, buckets, probes, seed);
    const unsigned word = __ballot_sync(0xffffffffu, hit);
    if (lane == 0 && row < n)
      hits[row / 32] = word;
    mine += __popc(word);
  }
  if (lane == 0)
    found[warp] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int w = 0; w < 8; ++w)
      sum += found[w];
    counts[blockIdx.x] = sum;
  }
}
