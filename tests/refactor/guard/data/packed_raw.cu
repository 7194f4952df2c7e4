// Rows of signed bytes with a scale each. A warp takes a row, a thread eight elements at once: it loads them
// in two wide accesses and clears their place in one, so that rows begin at a vector's address, and stores them
// one by one.
extern "C" __global__ void packed_kernel(signed char* __restrict__ out, float* __restrict__ scales,
                                         const float* __restrict__ in, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
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
#pragma unroll
    for (int j = 0; j < 8; ++j)
      out[row * columns + i * 8 + j] = static_cast<signed char>(rintf(values[j] / scale));
  }
}
