// Turns the first numbers of every head in neighbouring pairs, by angles of the token's place: half of them cosines, half sines.
__global__ void partial_kernel(float* __restrict__ x, const float* __restrict__ angles, const int* __restrict__ places, const int heads, const int dim,
                               const int turned) {
  const float* angle = angles + static_cast<long long>(places[blockIdx.x]) * turned;
  float* head = x + (static_cast<long long>(blockIdx.x) * heads + blockIdx.y) * dim;
  for (int i = threadIdx.x; i < turned / 2; i += 64) {
    const float c = angle[i], s = angle[turned / 2 + i];
    const float a = head[2 * i], b = head[2 * i + 1];
    head[2 * i] = a * c - b * s;
    head[2 * i + 1] = b * c + a * s;
  }
}
