// Appends the keys of new tokens to ring buffers, one a sequence, as bytes with a scale a head; a sequence whose counter is below zero is idle.
// Of more tokens than the ring has room for the last ones stay. A block takes HEADS heads one after the other; rows whose addresses allow it are read
// VEC numbers at a time.
#include <cstdint>

template <int VEC>
struct alignas(VEC * 4) Numbers {
  float at[VEC];
};

template <int VEC>
struct alignas(VEC) Levels {
  int8_t at[VEC];
};

__device__ __forceinline__ int8_t level_of(const float value, const float inverse) {
  const int level = __float2int_rn(value * inverse);
  return static_cast<int8_t>(max(-127, min(127, level)));
}

template <int BLOCK, int VEC, int HEADS>
__global__ void ringappend_kernel(int8_t* __restrict__ cache, float* __restrict__ scales, const float* __restrict__ keys, const int* __restrict__ written, const int tokens,
                                  const int heads, const int dim, const int capacity, const long long key_sequence, const int key_token, const int key_head,
                                  const long long cache_sequence, const int cache_slot, const int cache_head) {
  constexpr int WARPS = BLOCK / 32;
  __shared__ float peaks[WARPS];
  const int token = blockIdx.x, sequence = blockIdx.z;
  const int before = written[sequence];
  if (before < 0 || tokens - token > capacity)
    return;
  const int slot = static_cast<int>((static_cast<long long>(before) + token) % capacity);
  const int last_head = min(heads, (static_cast<int>(blockIdx.y) + 1) * HEADS);
  for (int head = blockIdx.y * HEADS; head < last_head; ++head) {
    const float* source = keys + sequence * key_sequence + static_cast<long long>(token) * key_token + static_cast<long long>(head) * key_head;
    int8_t* target = cache + sequence * cache_sequence + static_cast<long long>(slot) * cache_slot + static_cast<long long>(head) * cache_head;
    const bool wide = VEC > 1 && reinterpret_cast<unsigned long long>(source) % (VEC * 4) == 0 && reinterpret_cast<unsigned long long>(target) % VEC == 0;
    const int vectors = wide ? dim / VEC : 0;
    float peak = 0.f;
    for (int v = threadIdx.x; v < vectors; v += BLOCK) {
      const Numbers<VEC> four = *reinterpret_cast<const Numbers<VEC>*>(source + v * VEC);
#pragma unroll
      for (int k = 0; k < VEC; ++k)
        peak = fmaxf(peak, fabsf(four.at[k]));
    }
    for (int i = vectors * VEC + threadIdx.x; i < dim; i += BLOCK)
      peak = fmaxf(peak, fabsf(source[i]));
    for (int step = 16; step > 0; step /= 2)
      peak = fmaxf(peak, __shfl_xor_sync(0xffffffffu, peak, step));
    if (threadIdx.x % 32 == 0)
      peaks[threadIdx.x / 32] = peak;
    __syncthreads();
    peak = peaks[0];
    for (int w = 1; w < WARPS; ++w)
      peak = fmaxf(peak, peaks[w]);
    const float inverse = peak > 0.f ? 127.f / peak : 0.f;
    for (int v = threadIdx.x; v < vectors; v += BLOCK) {
      const Numbers<VEC> four = *reinterpret_cast<const Numbers<VEC>*>(source + v * VEC);
      Levels<VEC> levels;
#pragma unroll
      for (int k = 0; k < VEC; ++k)
        levels.at[k] = level_of(four.at[k], inverse);
      *reinterpret_cast<Levels<VEC>*>(target + v * VEC) = levels;
    }
    for (int i = vectors * VEC + threadIdx.x; i < dim; i += BLOCK)
      target[i] = level_of(source[i], inverse);
    if (threadIdx.x == 0)
      scales[(static_cast<long long>(sequence) * capacity + slot) * heads + head] = peak / 127.f;
    __syncthreads();
  }
}
