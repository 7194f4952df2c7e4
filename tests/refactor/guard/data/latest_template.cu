template <int BLOCK>
__global__ void latest_kernel(float* __restrict__ cache, const float* __restrict__ rows,
                              const int* __restrict__ slots, const bool* __restrict__ is_new, int sequences,
                              int columns, long stride) {
  const int index = blockIdx.x * BLOCK + threadIdx.x;
  const int packs = columns / 4;
  if (index >= sequences * packs)
    return;
  const int sequence = index / packs, column = index % packs * 4;
  const int slot = slots[sequence];
  if (slot < 0)
    return;
  float4* place = reinterpret_cast<float4*>(cache + slot * stride + column);
  const float4 row = *reinterpret_cast<const float4*>(rows + static_cast<long>(sequence) * columns + column);
  *place = is_new[sequence] ? row : make_float4(row.x * 0.5f, row.y * 0.5f, row.z * 0.5f, row.w * 0.5f);
}
