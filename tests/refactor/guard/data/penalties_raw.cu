// Scores of words that were there already: divided, and less by how often they were.
__global__ void penalties_kernel(float* __restrict__ logits, const int* __restrict__ counts,
                                 const unsigned char* __restrict__ prompt, const float* __restrict__ repetition,
                                 const float* __restrict__ frequency, const float* __restrict__ presence,
                                 const int vocab) {
  const int word = blockIdx.x * 256 + threadIdx.x;
  const int row = blockIdx.y;
  if (word >= vocab)
    return;
  const long long i = static_cast<long long>(row) * vocab + word;
  const int count = counts[i];
  float score = logits[i];
  if (count > 0 || prompt[i])
    score = score > 0.f ? score / repetition[row] : score * repetition[row];
  if (count > 0)
    score -= frequency[row] * count + presence[row];
  logits[i] = score;
}
