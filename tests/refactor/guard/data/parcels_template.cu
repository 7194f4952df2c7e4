template <int BLOCK>
__global__ void parcels_kernel(float* out, const float* in, int parts, int nodes, int width) {
  const int lots = gridDim.x;
  const long long from = (static_cast<long long>(blockIdx.z) * parts + blockIdx.y) * lots + blockIdx.x;
  const long long to = (static_cast<long long>(blockIdx.y) * nodes + blockIdx.z) * lots + blockIdx.x;
  for (int i = threadIdx.x * 4; i < width; i += BLOCK * 4)
    *reinterpret_cast<float4*>(out + to * width + i) = *reinterpret_cast<const float4*>(in + from * width + i);
}
