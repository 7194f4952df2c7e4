// Sums of rows times weights in eight shares of the depth: a block has thirty-two rows and every eighth piece of 1024 columns.
__global__ void shareddepth_kernel(float* out, const float* x, const float* w, int rows, int depth) {
  const int tile = blockIdx.x / 8, share = blockIdx.x % 8;
  const int row = tile * 32 + threadIdx.x / 2, half = threadIdx.x % 2;
  const int rounds = depth / 1024 / 8;
  float sum = 0;
  for (int round = 0; round < rounds; ++round) {
    const int begin = (round * 8 + share) * 1024 + half * 512;
    for (int i = 0; i < 512; i += 4) {
      const float4 a = *reinterpret_cast<const float4*>(x + (size_t)row * depth + begin + i);
      const float4 b = *reinterpret_cast<const float4*>(w + begin + i);
      sum += a.x * b.x;
      sum += a.y * b.y;
      sum += a.z * b.z;
      sum += a.w * b.w;
    }
  }
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  if (half == 0)
    out[share * rows + row] = sum;
}
