// Kernels whose threads have nothing to do with each other, and how many they want.
#include "refactor/knobs/thread_number.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

// "n", "n x m", "n in blocks of 128 at most"; "" where the block's size means more to the kernel k.
std::string threads_of(const std::string& text) {
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
  const auto threads = independent_threads(**source, *kernel);
  if (!threads)
    return "";
  std::string counts = threads->counts[0];
  for (const std::size_t axis : {1, 2})
    if (threads->counts[axis] != "1")
      counts += " x " + threads->counts[axis];
  return counts + (threads->largest_block
                       ? " in blocks of " + std::to_string(*threads->largest_block) + " at most"
                       : "");
}

TEST(IndependentThreads, AGuardAndAProduct) {
  EXPECT_EQ(threads_of(R"(
__global__ void k(float* x, unsigned rows, unsigned columns) {
  const unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
  if (i >= rows * columns) return;
  if (i == 0) x[0] = 0;
  x[i] *= 2;
})"),
            "((rows) * (columns))");
}

TEST(IndependentThreads, AGridStrideLoopOfAHelper) {
  EXPECT_EQ(threads_of(R"(
template <class T> __device__ void fill(T* x, T value, const size_t count) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) x[i] = value;
}
__global__ void __launch_bounds__(128) k(double* x, double value, const size_t elements) { fill(x, value, elements); }
)"),
            "(elements) in blocks of 128 at most");
}

// The call's function depends on the kernel's own parameter.
TEST(IndependentThreads, AGridStrideLoopOfAHelperOfATemplate) {
  const std::string loop =
      "for (int i = blockIdx.x * blockDim.x + threadIdx.x, step = blockDim.x * gridDim.x; "
      "i < (count); i += step) ";
  const std::string fill =
      "template <class T> __device__ void fill(const T value, const long count, T* x) {\n" + loop +
      "{ x[i] = value; }\n}\n";
  EXPECT_EQ(threads_of(fill + "template <class T> __global__ void k(T value, const long elements, T* x) {\n"
                              "  fill<T>(value, elements, x);\n}\n"),
            "(elements)");
  // Two calls with two bounds, and a bound that is computed.
  EXPECT_EQ(threads_of(fill + "template <class T> __global__ void k(T value, long n, long m, T* x) {\n"
                              "  fill<T>(value, n, x);\n  fill<T>(value, m, x);\n}\n"),
            "");
  EXPECT_EQ(threads_of(fill + "template <class T> __global__ void k(T value, long n, T* x) {\n"
                              "  fill<T>(value, n / 2, x);\n}\n"),
            "");
}

TEST(IndependentThreads, AnInclusiveBound) {
  EXPECT_EQ(threads_of("__global__ void k(float* x, int last) {\n"
                       "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                       "  if (last >= i) x[i] = 1;\n}"),
            "(last) + 1");
}

TEST(IndependentThreads, AThreadForEachElementOfAVolume) {
  EXPECT_EQ(threads_of(R"(
__global__ void k(float* x, int nx, int ny, int nz) {
  int ix = blockIdx.x * blockDim.x + threadIdx.x, iy = blockIdx.y * blockDim.y + threadIdx.y;
  int iz = threadIdx.z + blockIdx.z * blockDim.z;
  if (ix >= nx || iy >= ny || iz >= nz) return;
  if (ix > 0 && ix < nx - 1) x[(iz * ny + iy) * nx + ix] = 1;
})"),
            "(nx) x (ny) x (nz)");
  // Nothing bounds the rows: there are as many as there are blocks.
  EXPECT_EQ(threads_of(R"(
__global__ void k(float* x, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column < columns) x[row * columns + column] = 1;
})"),
            "");
}

TEST(IndependentThreads, AGridWhoseBlocksAreCountedRowByRow) {
  const std::string number = "int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;\n";
  EXPECT_EQ(threads_of("__global__ void k(float* x, int n) {\n" + number + "  if (i < n) x[i] = 1;\n}"),
            "(n)");
  // The row of blocks is also a row of the data.
  EXPECT_EQ(
      threads_of("__global__ void k(float* x, int n) {\n" + number + "  if (i < n) x[i] = blockIdx.y;\n}"),
      "");
}

TEST(IndependentThreads, TheLargestOfBoundsThatDifferByANumber) {
  EXPECT_EQ(threads_of("__global__ void k(float* x, int n) {\n"
                       "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                       "  if (i < n - 1) x[i] = 1;\n"
                       "  if (i < n) x[i] += 2;\n}"),
            "(n)");
}

TEST(IndependentThreads, NoneWhereThreadsShareOrBlocksAreRows) {
  EXPECT_EQ(threads_of(R"(
__global__ void k(float* x, int n) {
  __shared__ float part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) x[i] = part[255 - threadIdx.x];
})"),
            "");
  EXPECT_EQ(threads_of("__global__ void k(float* x, int n) {\n"
                       "  for (int i = threadIdx.x; i < n; i += blockDim.x) x[blockIdx.x * n + i] = 1;\n}"),
            "");
  EXPECT_EQ(threads_of("__global__ void k(float* x, int n, int m) {\n"
                       "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                       "  if (i < n) x[i] = 1;\n"
                       "  if (i < m) x[i] = 2;\n}"),
            "");
}

} // namespace
} // namespace lathe::refactor
