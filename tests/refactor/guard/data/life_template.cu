// A step of the game of life on a torus, 32 cells a word. ROWS rows a thread; with SLIDE a row that was below is kept for the next.
__device__ void count(unsigned& ones, unsigned& twos, unsigned& fours, const unsigned v) {
  const unsigned carry = ones & v;
  ones ^= v;
  fours |= twos & carry;
  twos ^= carry;
}
__device__ void count_row(unsigned& ones, unsigned& twos, unsigned& fours, const unsigned left, const unsigned middle, const unsigned right, const bool own) {
  count(ones, twos, fours, middle << 1 | left >> 31);
  count(ones, twos, fours, middle >> 1 | right << 31);
  if (!own)
    count(ones, twos, fours, middle);
}
struct Row {
  unsigned left, middle, right;
};
template <int BLOCK, int ROWS, int SLIDE>
__global__ void life_kernel(unsigned* __restrict__ next, const unsigned* __restrict__ cells, const int height, const int words) {
  const int x = blockIdx.x * BLOCK + threadIdx.x;
  if (x >= words)
    return;
  const int before = x == 0 ? words - 1 : x - 1, behind = x == words - 1 ? 0 : x + 1;
  const auto load = [&](const int y) {
    const unsigned* row = cells + static_cast<long long>(y) * words;
    return Row{row[before], row[x], row[behind]};
  };
  Row above{}, here{}, below{};
  for (int r = 0; r < ROWS; ++r) {
    const int y = blockIdx.y * ROWS + r;
    if (y >= height)
      return;
    if (SLIDE && r > 0) {
      above = here;
      here = below;
    } else {
      above = load(y == 0 ? height - 1 : y - 1);
      here = load(y);
    }
    below = load(y == height - 1 ? 0 : y + 1);
    unsigned ones = 0, twos = 0, fours = 0;
    count_row(ones, twos, fours, above.left, above.middle, above.right, false);
    count_row(ones, twos, fours, here.left, here.middle, here.right, true);
    count_row(ones, twos, fours, below.left, below.middle, below.right, false);
    next[static_cast<long long>(y) * words + x] = ~fours & twos & (ones | here.middle);
  }
}
