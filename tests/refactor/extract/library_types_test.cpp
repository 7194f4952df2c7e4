// Types and functions of libraries that NVRTC does not have, or has elsewhere.
#include "refactor/extract/half_specialisations.h"
#include "tests/refactor/extract/extraction.h"
#include "tests/refactor/extract/ptx.h"
#include "tests/refactor/frontend/sources.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(LibraryTypes, ATensAtomicsHaveAStandIn) {
  const auto source = parse_text(R"(
#include <ATen/cuda/Atomic.cuh>
template <class T> __global__ void k(T* x, const T* y, int n) {
  if (threadIdx.x < n) {
    gpuAtomicMax(&x[0], y[threadIdx.x]);
    gpuAtomicMin(&x[1], y[threadIdx.x]);
    gpuAtomicMul(&x[2], y[threadIdx.x]);
  }
}
)");
  const std::string text = extract(source.get(), "k");
  for (const char* type : {"float", "double", "int", "__half"})
    expect_compiles(text, fmt::format("k<{}>", type));
}

TEST(LibraryTypes, PyTorchsSmallTypesAreAddedAtomicallyAndBesideDoubles) {
  const auto source = parse_text(R"(
#include <ATen/ATen.h>
#include <THC/THCAtomics.cuh>
template <class T> __global__ void k(T* x, const T* y, int n) {
  if (threadIdx.x < n) {
    T scaled = (y[threadIdx.x] + 1.) * y[0] - 0.5;
    atomicAdd(x, scaled);
    gpuAtomicAdd(x + 1, y[threadIdx.x]);
  }
}
)");
  const std::string text = extract(source.get(), "k");
  for (const char* type : {"float", "double", "c10::Half", "c10::BFloat16"})
    expect_compiles(text, fmt::format("k<{}>", type));
}

TEST(LibraryTypes, AtomicFunctionsThatNvccBuildsInStayAsTheyAre) {
  const auto source = parse_text(R"(
__device__ int least(int* place, int value) {
  int seen = __nv_atomic_load_n(place, __NV_ATOMIC_RELAXED);
  while (value < seen)
    if (__nv_atomic_compare_exchange_n(place, &seen, value, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED,
                                       __NV_THREAD_SCOPE_DEVICE))
      break;
  return seen;
}
__global__ void k(int* x, const int* y, int n) {
  if (threadIdx.x < n)
    least(x, y[threadIdx.x]);
  __nv_atomic_add((float*)x + 1, 1.f, __NV_ATOMIC_RELAXED);
}
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("enum")));
  expect_compiles(text, "k");
}

TEST(LibraryTypes, PyTorchsAssertionsAreAssertions) {
  const auto source = parse_text(R"(
#include <ATen/ATen.h>
__global__ void k(float* x, int n) {
  CUDA_KERNEL_ASSERT(n > 0);
  CUDA_KERNEL_ASSERT_MSG(n < 1000, "too many");
  x[threadIdx.x] = n;
}
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("#include <cassert>"));
  expect_compiles(text, "k");
}

// Under PyTorch's flags CUDA has none of its own for what they convert to.
TEST(LibraryTypes, PyTorchsSmallTypesCompare) {
  const auto source = parse_text(R"(
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
template <class T> __device__ void merge(T* x, int i, int j) {
  if (x[j] >= x[i] || x[i] == x[j + 1] || x[i] > 1.f || x[j] != x[i + 1])
    x[i] = x[i] < x[j] ? x[j] : x[i] <= x[j + 1] ? x[j + 1] : x[i];
}
template <class T> __global__ void k(T* x, int n) { merge<T>(x, threadIdx.x, n); }
void launch(c10::BFloat16* b, c10::Half* h, int n) {
  k<c10::BFloat16><<<1, 32>>>(b, n);
  k<c10::Half><<<1, 32>>>(h, n);
}
)");
  const std::string text = extract(source.get(), "k");
  for (const char* type : {"c10::BFloat16", "c10::Half", "float"})
    expect_compiles(text, fmt::format("k<{}>", type));
}

TEST(LibraryTypes, FunctionsOfComplexNumbers) {
  const auto source = parse_text(R"(
#include <c10/util/complex.h>
#include <complex>
__global__ void of_torch(c10::complex<float>* x, const float* t) {
  const c10::complex<float> a = x[threadIdx.x];
  x[threadIdx.x] = std::exp(a * t[threadIdx.x]) + log(a) + std::pow(a, 2.f) * std::tanh(a) + std::sqrt(a);
}
struct complex64 : std::complex<float> {
  __device__ complex64(float re, float im) : std::complex<float>(re, im) {}
};
__global__ void of_the_standard(float* x) {
  const complex64 a(x[0], x[1]);
  x[0] = std::abs(std::exp(a)) + std::real(std::conj(a) * a);
}
)");
  expect_compiles(extract(source.get(), "of_torch"), "of_torch");
  const std::string text = extract(source.get(), "of_the_standard");
  EXPECT_THAT(text, HasSubstr("#include <complex>"));
  expect_compiles(text, "of_the_standard");
}

// NVRTC knows none of the libraries' headers; what stands below /usr/include is no part of the user's source.
TEST(LibraryTypes, TypesOfTheToolkitsLibrariesAreWrittenOut) {
  ParseOptions options;
  options.flags = {"-isystem", "/usr/include/lathe_test/include"};
  options.overlay["/usr/include/lathe_test/include/cufft.h"] =
      "typedef float2 cufftPair;\ntypedef cufftPair cufftComplex;\n";
  options.overlay["/lathe/k.cu"] = R"(
#include <cufft.h>
__global__ void k(cufftComplex* x, float by, int n) {
  if (threadIdx.x < n) x[threadIdx.x].y *= by;
}
)";
  const auto source = ParsedSource::parse("/lathe/k.cu", options);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  const std::string text = extract(source->get(), "k");
  EXPECT_THAT(text, HasSubstr("typedef float2 cufftComplex;"));
  expect_compiles(text, "k");
}

TEST(LibraryTypes, CopiesThroughAPipelineNeedItsHeader) {
  const auto source = parse_text(R"(
#include <cuda/pipeline>
__global__ void k(float* x) {
  __shared__ float tile[32];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(tile + threadIdx.x, x + threadIdx.x, cuda::aligned_size_t<4>(4), pipe);
  pipe.producer_commit();
  cuda::pipeline_consumer_wait_prior<0>(pipe);
  __syncthreads();
  x[threadIdx.x] = tile[31 - threadIdx.x];
}
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("#include <cuda/pipeline>"));
  EXPECT_THAT(text, Not(HasSubstr("cuda/__")));
  expect_compiles(text, "k");
}

TEST(LibraryTypes, TuplesOfTheStandardLibrary) {
  auto source = parse_text(R"(
#include <tuple>
using Kinds = std::tuple<char, float>;
__global__ void k(float* out) { out[threadIdx.x] = sizeof(std::tuple_element<1, Kinds>::type); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("#include <tuple>"));
  expect_compiles(text, "k");
}

TEST(LibraryTypes, TuplesOfThrust) {
  auto source = parse_text(R"(
#include <thrust/tuple.h>
__device__ thrust::tuple<float, float> both(float x) { return thrust::make_tuple(x, 2 * x); }
__global__ void k(float* out) { out[threadIdx.x] = thrust::get<1>(both(out[threadIdx.x])); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("#include <thrust/tuple.h>"));
  EXPECT_THAT(text, Not(HasSubstr("libcxx")));
  expect_compiles(text, "k");
}

TEST(LibraryTypes, StandInTypesAreListedAndCompile) {
  auto source = parse_text(R"(
#include <ATen/ATen.h>
#include <ATen/OpMathType.h>
template <class T> __global__ void scale(T* x, int n) {
  using compute_t = at::opmath_type<T>;
  if (threadIdx.x < n) x[threadIdx.x] = T(compute_t(x[threadIdx.x]) * compute_t(2));
}
)");
  ASSERT_TRUE(source);
  const auto kernel = find_kernel(*source, "scale");
  ASSERT_TRUE(kernel.ok());
  const auto extracted = extract_kernel(*source, *kernel);
  ASSERT_TRUE(extracted.ok()) << extracted.error().sentence();
  EXPECT_THAT(extracted->stand_ins, ElementsAre("lathe_c10_types.h"));
  EXPECT_THAT(extracted->includes, Contains("<cuda_bf16.h>"));
  expect_compiles(extracted->text, "scale<__nv_bfloat16>");
  expect_compiles(extracted->text, "scale<c10::Half>");
}

// Kernels clamp every element by the limits of these types: computed anew each time they would cost more than
// the rest.
TEST(LibraryTypes, LimitsOfStandInTypesAreConstants) {
  auto source = parse_text(R"(
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e5m2.h>
__global__ void clamp(float* x, float* y) {
  x[threadIdx.x] = fminf(x[threadIdx.x], std::numeric_limits<c10::Float8_e4m3fn>::max());
  y[threadIdx.x] = fminf(y[threadIdx.x], std::numeric_limits<c10::Float8_e5m2>::max());
}
)");
  ASSERT_TRUE(source);
  const std::string text = extract(source.get(), "clamp");
  const auto compiled = ptx_by_nvrtc(text, "clamp");
  ASSERT_TRUE(compiled.ok()) << compiled.error().sentence();
  EXPECT_THAT(compiled->text, HasSubstr("0f43E00000")); // 448
  EXPECT_THAT(compiled->text, HasSubstr("0f47600000")); // 57344
  EXPECT_THAT(compiled->text, Not(HasSubstr("cvt.")));
}

TEST(LibraryTypes, ComplexNumbersOfPyTorchAreKept) {
  const auto source = parse_text(R"(
#include <c10/util/complex.h>
using complex_t = c10::complex<float>;
__global__ void k(complex_t* x, float by, int n) {
  if (threadIdx.x >= n) return;
  const complex_t y = by * x[threadIdx.x] / complex_t(2.f, 1.f);
  x[threadIdx.x] += std::conj(y) * 2 - 1.f;
  x[threadIdx.x].imag_ *= std::abs(y);
}
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
  expect_compiles(extract(source.get(), "k"), "k");
}

// As vLLM's: a kernel for which nothing but PyTorch's half types has traits is instantiated with CUDA's.
TEST(LibraryTypes, TraitsOfPyTorchsHalvesAreThoseOfCudas) {
  const auto source = parse_text(R"(
#include <torch/all.h>
template <class T> struct Convert { static constexpr bool exists = false; };
template <> struct Convert<float> {
  static constexpr bool exists = true;
  static __device__ float of(float x) { return x; }
};
template <>
struct Convert<c10::Half> { // its braces: {
  static constexpr bool exists = true;
  static __device__ float of(__half x) { return __half2float(x); }
};
template <> struct Convert<at::BFloat16> {
  static constexpr bool exists = true;
  static __device__ float of(__nv_bfloat16 x) { return __bfloat162float(x); }
};
template <class T> __global__ std::enable_if_t<Convert<T>::exists> k(float* out, const T* in) {
  out[threadIdx.x] = Convert<T>::of(in[threadIdx.x]);
}
)");
  const std::string text = extract(source.get(), "k");
  for (const char* type : {"float", "__half", "__nv_bfloat16"})
    expect_compiles(text, fmt::format("k<{}>", type));
}

// cooperative_groups.h has none of these.
TEST(LibraryTypes, PartsOfCooperativeGroupsHaveHeadersOfTheirOwn) {
  const auto source = parse_text(R"(
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
__global__ void copied(float* out, const float* in, int n) {
  extern __shared__ float row[];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, row, in, sizeof(float) * n);
  cg::wait(block);
  if (threadIdx.x < n)
    out[threadIdx.x] = row[n - 1 - threadIdx.x];
}
__global__ void summed(int* out, const int* in) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  out[threadIdx.x] = cg::inclusive_scan(warp, in[threadIdx.x]) + cg::reduce(warp, in[threadIdx.x], cg::plus<int>());
}
)");
  const std::string copied = extract(source.get(), "copied"), summed = extract(source.get(), "summed");
  EXPECT_THAT(copied, HasSubstr("#include <cooperative_groups/memcpy_async.h>"));
  EXPECT_THAT(summed, HasSubstr("#include <cooperative_groups/reduce.h>"));
  EXPECT_THAT(summed, HasSubstr("#include <cooperative_groups/scan.h>"));
  expect_compiles(copied, "copied");
  expect_compiles(summed, "summed");
}

TEST(LibraryTypes, WhatHasCudasHalvesTooStaysAsItIs) {
  const std::string both = "template <> struct A<c10::Half> { int x; };\ntemplate <> struct A<__half> {};\n";
  EXPECT_EQ(with_half_specialisations(both), both);
  EXPECT_EQ(with_half_specialisations("template <> class A<2, c10::Half> final {};\n"),
            "template <> class A<2, c10::Half> final {};\n");
  EXPECT_EQ(with_half_specialisations(
                "template <> struct A<2, at::Half> : B { int n = 1'000; char c = '}'; };\nint x;\n"),
            "template <> struct A<2, at::Half> : B { int n = 1'000; char c = '}'; };\n"
            "template <> struct A<2, __half> : A<2, at::Half> {};\nint x;\n");
}

} // namespace
} // namespace lathe::refactor
