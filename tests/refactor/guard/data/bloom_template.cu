// Which of the rows that are still among those asked for have keys that a filter may hold. The filter has buckets of eight words; a key's bucket is the
// upper half of its hash times the number of buckets over 2^32, and it may be held where in each of the first `probes` words the bit is set that the
// lower half of the hash, times the word's factor, names by its upper five bits. A bit a row, and how many of each 1024 rows are hits. A block has TILES
// times 1024 rows; a thread reads VEC words of a bucket at once, and with EARLY none behind those that miss a bit.
__constant__ unsigned FACTORS[8] = {0x5a1c93e7u, 0x8f4b27d1u, 0xc96e0f35u, 0x37d8a54bu, 0xe2719c8du, 0x1b95f363u, 0x74e36a19u, 0xad0751bfu};

template <int VEC>
struct alignas(VEC * 4) Words {
  unsigned at[VEC];
};

__device__ __forceinline__ unsigned long long hashed(const unsigned long long key, const unsigned long long seed) {
  unsigned long long hash = (key ^ seed) * 0x9c1f0b6d5a3e7245ull;
  hash ^= hash >> 31;
  hash *= 0xc3a5e86b1d972f4bull;
  return hash ^ hash >> 29;
}

template <int VEC, int EARLY>
__device__ __forceinline__ bool may_hold(const unsigned long long key, const unsigned* filter, const unsigned buckets, const int probes,
                                         const unsigned long long seed) {
  const unsigned long long hash = hashed(key, seed);
  const unsigned lower = static_cast<unsigned>(hash);
  const unsigned bucket = __umulhi(static_cast<unsigned>(hash >> 32), buckets);
  const unsigned* words = filter + static_cast<unsigned long long>(bucket) * 8;
  unsigned missing = 0u;
  for (int w = 0; w < probes; w += VEC) {
    const Words<VEC> several = *reinterpret_cast<const Words<VEC>*>(words + w);
#pragma unroll
    for (int v = 0; v < VEC; ++v)
      if (w + v < probes)
        missing |= ~several.at[v] >> (lower * FACTORS[w + v] >> 27) & 1u;
    if (EARLY && missing != 0u)
      break;
  }
  return missing == 0u;
}

template <int BLOCK, int TILES, int VEC, int EARLY>
__global__ void bloom_kernel(unsigned* __restrict__ hits, int* __restrict__ counts, const unsigned long long* __restrict__ keys,
                             const unsigned* __restrict__ among, const unsigned* __restrict__ filter, const long long n, const unsigned buckets,
                             const int probes, const unsigned long long seed) {
  constexpr int WARPS = BLOCK / 32;
  __shared__ int found[WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int tile = 0; tile < TILES; ++tile) {
    const long long number = static_cast<long long>(blockIdx.x) * TILES + tile;
    if (number * 1024 >= n)
      break;
    int mine = 0;
#pragma unroll
    for (int k = 0; k < 1024 / BLOCK; ++k) {
      const long long row = number * 1024 + k * BLOCK + threadIdx.x;
      bool hit = false;
      if (row < n && (among[row / 32] >> (row % 32) & 1u) != 0u)
        hit = may_hold<VEC, EARLY>(keys[row], filter, buckets, probes, seed);
      const unsigned word = __ballot_sync(0xffffffffu, hit);
      if (lane == 0 && row < n)
        hits[row / 32] = word;
      mine += __popc(word);
    }
    if (tile > 0)
      __syncthreads();
    if (lane == 0)
      found[warp] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
      int sum = 0;
#pragma unroll
      for (int w = 0; w < WARPS; ++w)
        sum += found[w];
      counts[number] = sum;
    }
  }
}
