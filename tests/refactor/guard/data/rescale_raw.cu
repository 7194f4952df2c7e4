// Sums of 32 bits as numbers of eight: times their channel's multiplier over 2^31, shifted to the right by the channel's
// shift (to the left where that is below zero), rounded once, halves away from zero; plus a zero, between least and most.
// Rows lie `pitch` apart, those of the results `spread`. A block has 256 channels of a row.
__device__ __forceinline__ signed char rescaled(const int sum, const int multiplier, const int shift, const int zero, const int least, const int most) {
  const int places = min(max(shift, -30), 31) + 31;
  const long long product = static_cast<long long>(sum) * multiplier;
  const long long half = 1ll << (places - 1);
  const long long scaled = (product + half - (product < 0)) >> places;
  const long long moved = scaled + zero;
  return static_cast<signed char>(moved < least ? least : moved > most ? most : static_cast<int>(moved));
}

__global__ void rescale_kernel(signed char* __restrict__ out, const int* __restrict__ sums, const int* __restrict__ multipliers, const int* __restrict__ shifts, const int rows,
                               const int channels, const long long pitch, const long long spread, const int zero, const int least, const int most) {
  const int tiles = (channels - 1) / 256 + 1;
  const long long row = blockIdx.x / tiles;
  const long long channel = static_cast<long long>(blockIdx.x % tiles) * 256 + threadIdx.x;
  if (row >= rows || channel >= channels)
    return;
  out[row * spread + channel] = rescaled(sums[row * pitch + channel], multipliers[channel], shifts[channel], zero, least, most);
}
