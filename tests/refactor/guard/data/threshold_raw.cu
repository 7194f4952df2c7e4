// out = in where it is above a limit, else zero.
template <typename T>
__global__ void threshold_kernel(T* __restrict__ out, const T* __restrict__ in, const float limit, const int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) {
    const float value = static_cast<float>(in[index]);
    out[index] = value > limit ? value : 0.f;
  }
}
