// Sums of 32 bits as numbers of eight: times their channel's multiplier over 2^31, shifted to the right by the channel's
// shift (to the left where that is below zero), rounded once, halves away from zero; plus a zero, between least and most.
// Rows lie `pitch` apart, those of the results `spread`. A block has BLOCK * VEC channels of ROWS rows, a thread VEC
// neighbouring ones. STAGED: multipliers and shifts by way of shared memory; EARLY: a row is read while the one before it
// is worked on.
template <typename V, int VEC>
struct alignas(VEC * sizeof(V)) Lot {
  V at[VEC];
};

__device__ __forceinline__ signed char rescaled(const int sum, const int multiplier, const int shift, const int zero, const int least, const int most) {
  const int places = min(max(shift, -30), 31) + 31;
  const long long product = static_cast<long long>(sum) * multiplier;
  const long long half = 1ll << (places - 1);
  const long long scaled = (product + half - (product < 0)) >> places;
  const long long moved = scaled + zero;
  return static_cast<signed char>(moved < least ? least : moved > most ? most : static_cast<int>(moved));
}

template <int VEC>
__device__ __forceinline__ void give(signed char* to, const Lot<int, VEC>& now, const int (&factors)[VEC], const int (&turns)[VEC], const int zero, const int least,
                                     const int most) {
  Lot<signed char, VEC> results;
#pragma unroll
  for (int v = 0; v < VEC; ++v)
    results.at[v] = rescaled(now.at[v], factors[v], turns[v], zero, least, most);
  *reinterpret_cast<Lot<signed char, VEC>*>(to) = results;
}

template <int BLOCK, int VEC, int ROWS, int STAGED, int EARLY>
__global__ void rescale_kernel(signed char* __restrict__ out, const int* __restrict__ sums, const int* __restrict__ multipliers, const int* __restrict__ shifts, const int rows,
                               const int channels, const long long pitch, const long long spread, const int zero, const int least, const int most) {
  constexpr int TILE = BLOCK * VEC;
  const int tiles = (channels - 1) / TILE + 1;
  const long long first = static_cast<long long>(blockIdx.x / tiles) * ROWS;
  const long long begin = static_cast<long long>(blockIdx.x % tiles) * TILE;
  const long long channel = begin + threadIdx.x * VEC;
  int own_factors[VEC], own_shifts[VEC];
  if constexpr (STAGED) {
    __shared__ int staged_factors[TILE];
    __shared__ int staged_shifts[TILE];
    for (int i = threadIdx.x; i < TILE; i += BLOCK) {
      if (begin + i < channels) {
        staged_factors[i] = multipliers[begin + i];
        staged_shifts[i] = shifts[begin + i];
      }
    }
    __syncthreads();
    if (first >= rows || channel >= channels)
      return;
#pragma unroll
    for (int v = 0; v < VEC; ++v) {
      own_factors[v] = staged_factors[threadIdx.x * VEC + v];
      own_shifts[v] = staged_shifts[threadIdx.x * VEC + v];
    }
  } else {
    if (first >= rows || channel >= channels)
      return;
#pragma unroll
    for (int v = 0; v < VEC; ++v) {
      own_factors[v] = multipliers[channel + v];
      own_shifts[v] = shifts[channel + v];
    }
  }
  const int* from = sums + first * pitch + channel;
  signed char* to = out + first * spread + channel;
  const int count = rows - first < ROWS ? static_cast<int>(rows - first) : ROWS;
  if constexpr (EARLY) {
    Lot<int, VEC> next = *reinterpret_cast<const Lot<int, VEC>*>(from);
    for (int r = 0; r < count; ++r) {
      const Lot<int, VEC> now = next;
      if (r + 1 < count)
        next = *reinterpret_cast<const Lot<int, VEC>*>(from + (r + 1) * pitch);
      give<VEC>(to + r * spread, now, own_factors, own_shifts, zero, least, most);
    }
  } else {
    for (int r = 0; r < count; ++r) {
      const Lot<int, VEC> now = *reinterpret_cast<const Lot<int, VEC>*>(from + r * pitch);
      give<VEC>(to + r * spread, now, own_factors, own_shifts, zero, least, most);
    }
  }
}
