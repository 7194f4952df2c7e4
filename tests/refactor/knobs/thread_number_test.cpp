// Kernels whose threads have nothing to do with each other, and how many they want.
#include "refactor/knobs/thread_number.h"

#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

// "n", "n in blocks of 128 at most"; "" where the block's size means more to the kernel k.
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
  return threads->count + (threads->largest_block
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
