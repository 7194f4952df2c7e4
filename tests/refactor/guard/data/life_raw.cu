// A step of the game of life on a torus, 32 cells a word, a thread a word. Neighbours are counted bit by bit, four and more alike.
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
__global__ void life_kernel(unsigned* __restrict__ next, const unsigned* __restrict__ cells, const int height, const int words) {
  const int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y;
  if (x >= words)
    return;
  const int before = x == 0 ? words - 1 : x - 1, behind = x == words - 1 ? 0 : x + 1;
  const unsigned* above = cells + static_cast<long long>(y == 0 ? height - 1 : y - 1) * words;
  const unsigned* here = cells + static_cast<long long>(y) * words;
  const unsigned* below = cells + static_cast<long long>(y == height - 1 ? 0 : y + 1) * words;
  unsigned ones = 0, twos = 0, fours = 0;
  count_row(ones, twos, fours, above[before], above[x], above[behind], false);
  count_row(ones, twos, fours, here[before], here[x], here[behind], true);
  count_row(ones, twos, fours, below[before], below[x], below[behind], false);
  next[static_cast<long long>(y) * words + x] = ~fours & twos & (ones | here[x]);
}
