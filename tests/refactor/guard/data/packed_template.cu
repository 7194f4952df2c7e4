// The helpers of pack-stores, as it writes them: no address here ever asks for the second way.
// COUNT values in registers, aligned as far as their number allows, to 16 bytes at most.
template <class V, unsigned COUNT>
struct alignas(COUNT * sizeof(V) % 16 == 0 ? 16 : COUNT * sizeof(V) & -(COUNT * sizeof(V))) lathe_packed {
  V element[COUNT];
};
// To consecutive places: in wide stores where the address allows it.
template <class V, unsigned COUNT>
__device__ __forceinline__ void lathe_store_packed(const lathe_packed<V, COUNT>& values, V* target) {
  if (reinterpret_cast<unsigned long long>(target) % alignof(lathe_packed<V, COUNT>) == 0) {
    *reinterpret_cast<lathe_packed<V, COUNT>*>(target) = values;
  } else {
#pragma unroll
    for (unsigned i = 0; i < COUNT; ++i)
      target[i] = values.element[i];
  }
}

template <int BLOCK, int PACK_STORES>
__global__ void packed_kernel(signed char* __restrict__ out, float* __restrict__ scales,
                              const float* __restrict__ in, int rows, int columns) {
  const int row = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  const float4* from = reinterpret_cast<const float4*>(in + row * columns);
  float largest = 1e-6f;
  for (int i = lane; i < columns / 4; i += 32) {
    const float4 x = from[i];
    largest = fmaxf(largest, fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w))));
  }
  for (int mask = 16; mask > 0; mask /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, mask));
  const float scale = largest / 127.f;
  if (lane == 0)
    scales[row] = scale;
  for (int i = lane; i < columns / 8; i += 32) {
    reinterpret_cast<uint2*>(out + row * columns)[i] = make_uint2(0, 0);
    const float4 x = from[2 * i], y = from[2 * i + 1];
    const float values[8] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
    lathe_packed<signed char, PACK_STORES == 0 ? 1 : 8> lathe_values;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      (PACK_STORES == 0 ? out[row * columns + i * 8 + j] : lathe_values.element[j]) =
          static_cast<signed char>(rintf(values[j] / scale));
    if constexpr (PACK_STORES == 1)
      lathe_store_packed(lathe_values, &out[row * columns + i * 8 + 0]);
  }
}
