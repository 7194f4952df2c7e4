// out = in where it is above a limit, else zero, ITEMS elements a thread.
template <typename T, unsigned BLOCK, int ITEMS>
__global__ void threshold_kernel(T* __restrict__ out, const T* __restrict__ in, const float limit, const int count) {
  if constexpr (ITEMS == 1) {
    const int index = blockIdx.x * BLOCK + threadIdx.x;
    if (index < count) {
      const float value = static_cast<float>(in[index]);
      out[index] = value > limit ? value : 0.f;
    }
  } else {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int index = (blockIdx.x * ITEMS + item) * BLOCK + threadIdx.x;
      if (index < count) {
        const float each = static_cast<float>(in[index]);
        out[index] = each > limit ? each : 0.f;
      }
    }
  }
}
