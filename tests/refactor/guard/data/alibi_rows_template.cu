// Softmax of rows of scores with a bias by distance and a mask, of which the first lengths[row] count. LANES threads a row, ROWS rows
// beside each other and PASSES times as many one after the other in a block; a thread moves VEC neighbouring numbers at once. With
// KEEP a row stays in shared memory from one of the three rounds over it to the next, each number with the thread that brought it.
template <int VEC>
struct alignas(4 * VEC) Numbers {
  float at[VEC];
};

__device__ __forceinline__ float biased(const float score, const float* added, const float slope, const float scale, const int i, const int last) {
  float value = score * scale + slope * static_cast<float>(i - last);
  if (added != nullptr)
    value += added[i];
  return value;
}

// The maximum or the sum over the threads of a row. `parts` is the row's.
template <int LANES, bool MAXIMUM>
__device__ __forceinline__ float over_row(float value, float* parts) {
#pragma unroll
  for (int offset = (LANES < 32 ? LANES : 32) / 2; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, offset);
    value = MAXIMUM ? fmaxf(value, other) : value + other;
  }
  if (LANES > 32) {
    __syncthreads();
    if (threadIdx.x % 32 == 0)
      parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
    for (int w = 1; w < LANES / 32; ++w)
      value = MAXIMUM ? fmaxf(value, parts[w]) : value + parts[w];
  }
  return value;
}

template <int LANES, int ROWS, int PASSES, int VEC, int KEEP>
__global__ void alibi_rows_kernel(float* __restrict__ out, const float* __restrict__ scores, const float* __restrict__ mask, const float* __restrict__ slopes,
                                  const int* __restrict__ lengths, const int rows, const int heads, const int queries, const int columns,
                                  const long long in_stride, const long long mask_stride, const long long out_stride, const float scale) {
  extern __shared__ float kept[];
  __shared__ float parts[ROWS][LANES < 32 ? 1 : LANES / 32];
  const int thread = threadIdx.x, beside = threadIdx.y;
  float* own = kept + (KEEP ? beside * columns : 0);
  for (int pass = 0; pass < PASSES; ++pass) {
    const int row = (blockIdx.x * PASSES + pass) * ROWS + beside;
    const bool is_row = row < rows;
    const int length = is_row ? min(lengths[row], columns) : 0;
    const int last = length - 1;
    const float slope = is_row ? slopes[row / queries % heads] : 0.f;
    const float* in = scores + row * in_stride;
    const float* added = mask == nullptr ? nullptr : mask + row % queries * mask_stride;
    float* to = out + row * out_stride;

    float top = -INFINITY;
    for (int i = thread * VEC; i < length; i += LANES * VEC) {
      const Numbers<VEC> part = *reinterpret_cast<const Numbers<VEC>*>(in + i);
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
        if (i + v < length) {
          const float value = biased(part.at[v], added, slope, scale, i + v, last);
          if (KEEP)
            own[i + v] = value;
          top = fmaxf(top, value);
        }
      }
    }
    top = over_row<LANES, true>(top, parts[beside]);

    float sum = 0.f;
    for (int i = thread * VEC; i < length; i += LANES * VEC) {
      Numbers<VEC> part;
      if (!KEEP)
        part = *reinterpret_cast<const Numbers<VEC>*>(in + i);
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
        if (i + v < length) {
          const float value = expf((KEEP ? own[i + v] : biased(part.at[v], added, slope, scale, i + v, last)) - top);
          if (KEEP)
            own[i + v] = value;
          sum += value;
        }
      }
    }
    sum = over_row<LANES, false>(sum, parts[beside]);

    if (is_row) {
      for (int i = thread * VEC; i < columns; i += LANES * VEC) {
        Numbers<VEC> part, result;
        if (!KEEP && i < length)
          part = *reinterpret_cast<const Numbers<VEC>*>(in + i);
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          float value = 0.f;
          if (i + v < length && top != -INFINITY)
            value = (KEEP ? own[i + v] : expf(biased(part.at[v], added, slope, scale, i + v, last) - top)) / sum;
          result.at[v] = value;
        }
        *reinterpret_cast<Numbers<VEC>*>(to + i) = result;
      }
    }
  }
}
