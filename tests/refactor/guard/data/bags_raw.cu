// Of each range of rows the mean, scaled by groups of columns and divided by the length of the column.
__global__ void bags_kernel(float* __restrict__ out, const float* __restrict__ table, const int* __restrict__ offsets,
                            const float* __restrict__ scales, const float alpha, const float epsilon, const int width,
                            const int group, const int ignored) {
  extern __shared__ float lengths[];
  const int bag = blockIdx.x;
  const int first = offsets[bag], last = offsets[bag + 1];
  const int groups = (width + group - 1) / group;
  for (int column = threadIdx.x; column < width; column += blockDim.x) {
    float sum = 0.f, squares = 0.f;
    for (int row = first; row < last; ++row) {
      if (row == ignored)
        continue;
      const float x = table[static_cast<long long>(row) * width + column];
      sum += x;
      squares += x * x;
    }
    lengths[column] = fmaxf(sqrtf(squares), epsilon);
    const float mean = last > first ? sum / static_cast<float>(last - first) : 0.f;
    out[static_cast<long long>(bag) * width + column] =
        alpha * mean * scales[bag * groups + column / group] / lengths[column];
  }
}
