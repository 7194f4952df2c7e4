// Turns the first numbers of every head in neighbouring pairs, by angles of the token's place: half of them cosines, half sines.
template <int BLOCK, int HEADS, int PAIRS>
__global__ void partial_kernel(float* __restrict__ x, const float* __restrict__ angles, const int* __restrict__ places, const int heads, const int dim,
                               const int turned) {
  const float* angle = angles + static_cast<long long>(places[blockIdx.x]) * turned;
  for (int first = threadIdx.x; first < turned / 2; first += BLOCK * PAIRS) {
    float c[PAIRS], s[PAIRS];
    for (int p = 0; p < PAIRS; ++p) {
      const int i = first + p * BLOCK;
      c[p] = i < turned / 2 ? angle[i] : 0.f;
      s[p] = i < turned / 2 ? angle[turned / 2 + i] : 0.f;
    }
    for (int h = blockIdx.y * HEADS; h < min(heads, (static_cast<int>(blockIdx.y) + 1) * HEADS); ++h) {
      float* head = x + (static_cast<long long>(blockIdx.x) * heads + h) * dim;
      for (int p = 0; p < PAIRS; ++p) {
        const int i = first + p * BLOCK;
        if (i < turned / 2) {
          const float a = head[2 * i], b = head[2 * i + 1];
          head[2 * i] = a * c[p] - b * s[p];
          head[2 * i + 1] = b * c[p] + a * s[p];
        }
      }
    }
  }
}
