// Appends the keys of new tokens to ring buffers, one a sequence, as bytes with a scale a head; a sequence whose counter is below zero is idle.
// Of more tokens than the ring has room for the last ones stay.
#include <cstdint>

__global__ void ringappend_kernel(int8_t* __restrict__ cache, float* __restrict__ scales, const float* __restrict__ keys, const int* __restrict__ written, const int tokens,
                                  const int heads, const int dim, const int capacity, const long long key_sequence, const int key_token, const int key_head,
                                  const long long cache_sequence, const int cache_slot, const int cache_head) {
  __shared__ float peaks[2];
  const int token = blockIdx.x, head = blockIdx.y, sequence = blockIdx.z;
  const int before = written[sequence];
  if (before < 0 || tokens - token > capacity)
    return;
  const int slot = static_cast<int>((static_cast<long long>(before) + token) % capacity);
  const float* source = keys + sequence * key_sequence + static_cast<long long>(token) * key_token + static_cast<long long>(head) * key_head;
  int8_t* target = cache + sequence * cache_sequence + static_cast<long long>(slot) * cache_slot + static_cast<long long>(head) * cache_head;
  float peak = 0.f;
  for (int i = threadIdx.x; i < dim; i += 64)
    peak = fmaxf(peak, fabsf(source[i]));
  for (int step = 16; step > 0; step /= 2)
    peak = fmaxf(peak, __shfl_xor_sync(0xffffffffu, peak, step));
  if (threadIdx.x % 32 == 0)
    peaks[threadIdx.x / 32] = peak;
  __syncthreads();
  peak = fmaxf(peaks[0], peaks[1]);
  const float inverse = peak > 0.f ? 127.f / peak : 0.f;
  for (int i = threadIdx.x; i < dim; i += 64) {
    const int level = __float2int_rn(source[i] * inverse);
    target[i] = static_cast<int8_t>(max(-127, min(127, level)));
  }
  if (threadIdx.x == 0)
    scales[(static_cast<long long>(sequence) * capacity + slot) * heads + head] = peak / 127.f;
}
