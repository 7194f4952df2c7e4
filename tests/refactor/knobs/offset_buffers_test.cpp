// Which integers say where ranges begin, and what the ranges are of.
#include "refactor/knobs/offset_buffers.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

// "row_ptr: col 1, val 1; ..." of the kernel k.
std::string offsets_in(const std::string& text) {
  ParseOptions options;
  options.overlay["/lathe/k.cu"] = text;
  const auto source = ParsedSource::parse("/lathe/k.cu", options);
  if (!source.ok())
    return source.error().sentence();
  for (const std::string& error : (*source)->errors())
    return error;
  const auto kernel = find_kernel(**source, "k");
  if (!kernel.ok())
    return kernel.error().sentence();
  std::string found;
  for (const OffsetBuffer& offsets : offset_buffers(KernelView(**source, *kernel))) {
    found += (found.empty() ? "" : "; ") + offsets.name + ":";
    for (const RangedBuffer& ranged : offsets.ranged)
      found += " " + ranged.name + " by " + (ranged.step.empty() ? "?" : ranged.step);
  }
  return found;
}

TEST(OffsetBuffers, ALoopFromOneElementToTheNext) {
  EXPECT_EQ(offsets_in(R"(
__global__ void k(const int* row_ptr, const int* col, const float* val, const float* x, float* y, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int j = row_ptr[row]; j < row_ptr[row + 1]; ++j) sum += val[j] * x[col[j]];
  y[row] = sum;
})"),
            "row_ptr: col by 1 val by 1");
}

TEST(OffsetBuffers, EndsInVariablesThreadsStrideAndRowsAreWide) {
  EXPECT_EQ(offsets_in(R"(
template <class T, class Index>
__global__ void k(const Index* __restrict__ starts, const T* in, T* out, int d) {
  const Index* mine = starts + blockIdx.x;
  const Index begin = mine[0];
  Index end;
  end = __ldg(&mine[1]);
  for (Index j = begin + threadIdx.y; j < end; j += blockDim.y)
    for (int c = threadIdx.x; c < d; c += blockDim.x) out[2 * j * d + c] = in[j * d + c];
}
template __global__ void k<float, int>(const int*, const float*, float*, int);
)"),
            "starts: in by d out by 2 * d");
}

TEST(OffsetBuffers, TwoThreadsLoadThemForTheirWarp) {
  EXPECT_EQ(offsets_in(R"(
__global__ void k(const int* Ap, const int* Aj, const float* Ax, float* y, int rows) {
  __shared__ int ends[8][2];
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  for (int row = blockIdx.x * 8 + warp; row < rows; row += gridDim.x * 8) {
    if (lane < 2) ends[warp][lane] = Ap[row + lane];
    __syncwarp();
    const int begin = ends[warp][0], end = ends[warp][1];
    float sum = 0;
    for (int j = begin + lane; j < end; j += 32) sum += Ax[j] * Aj[j];
    y[row] = sum;
  }
})"),
            "Ap: Aj by 1 Ax by 1");
}

TEST(OffsetBuffers, PairsThatAreNoEndsAreNone) {
  EXPECT_EQ(offsets_in(R"(
__global__ void k(const int* p, const float* x, float* y, int rows) {
  __shared__ int both[8][2];
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  const int row = blockIdx.x * 8 + warp;
  if (lane < 2) both[warp][lane] = p[row + lane];
  __syncwarp();
  y[row * 32 + lane] = x[both[warp][0]] + x[both[warp][1]];
})"),
            "");
}

TEST(OffsetBuffers, LengthsInHelpersAndEndsAlone) {
  EXPECT_EQ(offsets_in(R"(
__device__ int length_of(const int* lengths, int i) { return lengths[i + 1] - lengths[i]; }
__global__ void k(const int* cu_seqlens, const float* q, float* out) {
  const int n = length_of(cu_seqlens, blockIdx.x);
  for (int j = threadIdx.x; j < n; j += blockDim.x) out[cu_seqlens[blockIdx.x] + j] = q[j];
})"),
            "cu_seqlens: out by 1");
  EXPECT_EQ(offsets_in(R"(
__global__ void k(const long long* ends, const float* x, float* y) {
  const long long i = blockIdx.x;
  const long long from = i == 0 ? 0 : ends[i - 1], to = ends[i];
  for (long long j = from; j < to; ++j) y[i] += x[j];
})"),
            "ends: x by 1");
}

TEST(OffsetBuffers, WhichRangeHoldsANumber) {
  EXPECT_EQ(offsets_in(R"(
__global__ void k(const int* offsets, int* owner, int experts, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int e = 0; e < experts; ++e)
    if (t >= offsets[e] && t < offsets[e + 1] && t < n) owner[t] = e;
})"),
            "offsets:");
}

TEST(OffsetBuffers, OtherNeighboursAreNone) {
  // Neither compared with one another nor with one number; written; not next to each other; a gradient.
  EXPECT_EQ(offsets_in(R"(
__global__ void k(const int* a, int* b, const int* c, const int* d, int* y) {
  const int i = threadIdx.x;
  y[i] = a[i] + a[i + 1] + (b[i + 1] - b[i]) + (c[i + 2] - c[i]);
  b[i] = d[i + 1] - d[i];
})"),
            "");
}

} // namespace
} // namespace lathe::refactor
