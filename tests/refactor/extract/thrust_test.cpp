// What kernels use of Thrust: NVRTC knows its tuples and function objects, and is given the rest.
#include "refactor/extract/extract.h"
#include "refactor/frontend/standard.h"
#include "tests/refactor/frontend/sources.h"

#include "tuner/compile/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ExtractedKernel extract(const std::string& source) {
  const auto parsed = parse_text(source);
  if (!parsed)
    return {};
  EXPECT_THAT(parsed->errors(), IsEmpty());
  const auto kernel = find_kernel(*parsed, "k");
  if (!kernel.ok()) {
    ADD_FAILURE() << kernel.error().sentence();
    return {};
  }
  auto extracted = extract_kernel(*parsed, *kernel);
  if (!extracted.ok()) {
    ADD_FAILURE() << extracted.error().sentence();
    return {};
  }
  return std::move(*extracted);
}

void expect_compiles(const ExtractedKernel& kernel, const std::string& instance) {
  const auto compiled = compile_kernel(kernel.text, instance, {standard_option(kernel.text)}, "sm_90");
  EXPECT_TRUE(compiled.ok()) << compiled.error().sentence() << "\n" << kernel.text;
}

TEST(Thrust, AlgorithmsOfOneThreadAreSupplied) {
  const ExtractedKernel kernel = extract(R"(
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
template <class T> __global__ void k(T* rows, T* sums, int width, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T* row = rows + i * width;
  sums[i] = thrust::reduce(thrust::device, row, row + width, T(0), thrust::maximum<T>());
  thrust::inclusive_scan(thrust::seq, row, row + width, row);
  thrust::stable_sort(thrust::seq, row, row + width);
}
)");
  EXPECT_THAT(kernel.stand_ins, Contains("lathe_thrust_sequential.h"));
  EXPECT_THAT(kernel.text, HasSubstr("#include <thrust/functional.h>"));
  EXPECT_THAT(kernel.text, Not(HasSubstr("#include <thrust/detail")));
  // What stable_sort is made of comes along, and nothing else.
  EXPECT_THAT(kernel.text, HasSubstr("void sort(lathe_one_thread"));
  EXPECT_THAT(kernel.text, Not(HasSubstr("exclusive_scan")));
  expect_compiles(kernel, "k<float>");
}

TEST(Thrust, NamesOfOthersAreTheirOwn) {
  const ExtractedKernel kernel = extract(R"(
#include <thrust/pair.h>
#include <thrust/reduce.h>
namespace mine { template <class T> __device__ T reduce(const T* x, int n) { return n > 0 ? x[0] : T(0); } }
__global__ void k(float* x, int n) {
  thrust::pair<float, int> found(mine::reduce(x, n), n);
  if (threadIdx.x < n) x[threadIdx.x] = found.first;
}
float total(float* x, int n) { return thrust::reduce(x, x + n); }
)");
  EXPECT_THAT(kernel.stand_ins, IsEmpty());
  EXPECT_THAT(kernel.text, HasSubstr("#include <thrust/pair.h>"));
  expect_compiles(kernel, "k");
}

TEST(Thrust, ComplexNumbersAreWrittenOut) {
  const ExtractedKernel kernel = extract(R"(
#include <complex>
#include <thrust/complex.h>
template <class R> __global__ void k(thrust::complex<R>* x, R by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const thrust::complex<R> phase = thrust::exp(thrust::complex<R>(0, by));
  x[i] = 2.0 * conj(x[i]) / phase - 1;
  x[i] += thrust::complex<double>(1.0, 2.0) * by;
  if (x[i] != phase && thrust::norm(x[i]) < by) x[i].imag(x[i].real());
}
void run(std::complex<double>* x, int n) {
  const thrust::complex<double> first = x[0];
  k<<<(n + 255) / 256, 256>>>(reinterpret_cast<thrust::complex<double>*>(x), first.real(), n);
}
)");
  EXPECT_THAT(kernel.stand_ins, Contains("lathe_thrust_complex.h"));
  EXPECT_THAT(kernel.text, Not(HasSubstr("#include <thrust")));
  expect_compiles(kernel, "k<float>");
  expect_compiles(kernel, "k<double>");
}

} // namespace
} // namespace lathe::refactor
