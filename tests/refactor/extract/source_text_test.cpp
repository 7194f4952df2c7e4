// Files, macros, directives and linkage: how the text lies that is taken out.
#include "refactor/frontend/standard.h"
#include "tests/refactor/extract/extraction.h"
#include "tests/refactor/frontend/sources.h"

#include "tuner/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SourceText, UsingDirectivesOfUnnamedNamespacesAreKept) {
  auto source = parse_text(R"(
namespace lib { namespace internal { static constexpr int NONE = -1; } namespace other { static constexpr int MANY = 9; } }
namespace {
using namespace lib::internal;
using namespace lib::other;
__global__ void k(int* x) { x[threadIdx.x] = NONE; }
}
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("using namespace lib::internal;"));
  EXPECT_THAT(text, Not(HasSubstr("lib::other")));
  expect_compiles(text, "k");
}

TEST(SourceText, VariablesInitialisedByACallEndBehindTheBracket) {
  auto source = parse_text(R"(
constexpr int THREADS(128), WARPS(THREADS / (16 + 16));
const int LANES((32));
__global__ void k(int* x) { x[threadIdx.x] = THREADS + WARPS * LANES; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("WARPS(THREADS / (16 + 16));"));
  EXPECT_THAT(text, HasSubstr("LANES((32));"));
  expect_compiles(text, "k");
}

TEST(SourceText, ACommentBehindCodeIsNotPartOfWhatFollows) {
  auto source = parse_text(R"(
/* What this program is for,
 * in two lines. */
#include <ctime>
const float SCALE = 0.5f; /* degrees to radians */
/* of an ellipsoid */
const float FLATTENING = 3.0f;
__global__ void k(float* x) { x[threadIdx.x] *= SCALE + FLATTENING; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("ctime")));
  EXPECT_THAT(text, HasSubstr("/* of an ellipsoid */"));
  expect_compiles(text, "k");
}

TEST(SourceText, UsingDirectivesForHostCodeAreLeftOut) {
  auto source = parse_text(R"(
#include <chrono>
#include <cstdint>
using namespace std;
using namespace std::chrono;
__global__ void k(uint32_t* x) { x[threadIdx.x] += 1; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("chrono")));
  expect_compiles(text, "k");
}

TEST(SourceText, ADeclarationMayBeTheFilesLastToken) {
  const auto folder = TemporaryFolder::create("last");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_file(folder->path() / "k.cuh", "__global__ void k(int* x, int by = 2);").ok());
  ASSERT_TRUE(write_file(folder->path() / "k.cu",
                         "#include \"k.cuh\"\n__global__ void k(int* x, int by) { x[threadIdx.x] *= by; }\n")
                  .ok());
  const auto source = ParsedSource::parse(folder->path() / "k.cu", {});
  ASSERT_TRUE(source.ok());
  expect_compiles(extract(source->get(), "k"), "k");
}

TEST(SourceText, HeadersOfTheRepositoryAndConditionalCode) {
  auto folder = TemporaryFolder::create("test");
  ASSERT_TRUE(folder.ok());
  const auto at = folder->path();
  ASSERT_TRUE(
      write_file(
          at / "include/reduce.cuh",
          "#pragma once\n"
          "#ifdef USE_ROCM\n#define WARP 64\n#else\n#define WARP 32\n#endif\n"
          "template <class T>\n"
          "#if __CUDA_ARCH__ >= 800\n"
          "__device__ T reduce(T value) {\n"
          "#else\n"
          "__device__ T reduce(T value, int) {\n"
          "#endif\n"
          "  for (int lane = WARP / 2; lane > 0; lane /= 2) value += __shfl_xor_sync(~0u, value, lane);\n"
          "  return value;\n}\n")
          .ok());
  ASSERT_TRUE(
      write_file(at / "csrc/sum.cu",
                 "#include \"reduce.cuh\"\n#include <missing/framework.h>\n"
                 "namespace {\n__global__ void sum(float* x) {\n"
                 "#ifdef FAST\n  x[0] = reduce(x[threadIdx.x]) + FAST;\n#else\n  x[0] = 0;\n#endif\n}\n}\n"
                 "void host(framework::Tensor t) { sum<<<1, WARP>>>(t.data()); }\n")
          .ok());
  ParseOptions options;
  options.flags = {"-DFAST=1.5f"};
  auto source = ParsedSource::parse(at / "csrc/sum.cu", options);
  ASSERT_TRUE(source.ok());
  const std::string text = extract(source->get(), "sum");
  EXPECT_THAT(text, HasSubstr("#define FAST 1.5f"));
  EXPECT_THAT(text, HasSubstr("#define WARP 32"));
  EXPECT_THAT(text, HasSubstr("#if __CUDA_ARCH__ >= 800"));
  EXPECT_THAT(text, Not(HasSubstr("framework")));
  expect_compiles(text, "sum");
}

TEST(SourceText, DirectivesAliasesLinkageAndGeneratedKernels) {
  auto source = parse_text(R"(
namespace math { namespace inner { __device__ float half(float x) { return x / 2; } typedef struct { float v; } Box; } }
namespace mi = math::inner;
using namespace math;
using math::inner::half;
extern "C" { __device__ float c_add(float a, float b) { return a + b; } }
#define KERNEL(name, op) __global__ void name##_kernel(float* x) { mi::Box b{half(*x)}; *x = c_add(op(b.v), inner::half(1.f)); }
KERNEL(sine, sinf)
KERNEL(root, sqrtf)
)");
  const std::string text = extract(source.get(), "root_kernel");
  EXPECT_THAT(text, HasSubstr("KERNEL(root, sqrtf)"));
  EXPECT_THAT(text, Not(HasSubstr("KERNEL(sine")));
  expect_compiles(text, "root_kernel");
}

// Of another kernel of the file that needs its header.
TEST(SourceText, ADirectiveOfANamespaceWhoseHeaderIsNotNeeded) {
  auto source = parse_text(R"(
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void k(__half* x) { x[threadIdx.x] = __float2half(1.f); }
)");
  expect_compiles(extract(source.get(), "k"), "k");
}

TEST(SourceText, TypesThatTheSystemHasNamedBeforeAreTheSystems) {
  auto source = parse_text(R"(
#include <stdint.h>
extern "C" {
typedef int int32_t;
typedef int32_t counted;
}
__global__ void k(counted* x, int32_t n) { if (threadIdx.x < n) x[threadIdx.x] = n; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("typedef int int32_t")));
  EXPECT_THAT(text, Not(HasSubstr("__int32_t")));
  expect_compiles(text, "k");
}

TEST(SourceText, FilesThatKeptTextIncludesAreNotIncludedAgain) {
  ParseOptions options;
  options.overlay["/lathe/types.h"] = "struct Pair { float a, b; };\n";
  options.overlay["/lathe/steps.inc"] = "sum += pair.a;\nsum += pair.b;\n";
  options.overlay["/lathe/k.cu"] = R"(
#ifndef GUARD
#define GUARD
#include "types.h"
__device__ float total(Pair pair) {
  float sum = 0;
#include "steps.inc"
  return sum;
}
#endif
__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = total({x[0], x[1]}); }
)";
  const auto source = ParsedSource::parse("/lathe/k.cu", options);
  ASSERT_TRUE(source.ok()) << source.error().sentence();
  const std::string text = extract(source->get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("#include \"")));
  EXPECT_THAT(text, HasSubstr("struct Pair"));
  EXPECT_THAT(text, HasSubstr("sum += pair.b;"));
  expect_compiles(text, "k");
}

// The call is kept whole: so is what the operator needs that the kernel does not use.
TEST(SourceText, WhatAMacroDeclaresBesideIsFollowed) {
  auto source = parse_text(R"(
namespace pairs {
__device__ float2 narrowed(double2 x) { return make_float2(x.x, x.y); }
#define OPERATORS(op)                                                                                        \
  __device__ double2 operator op(float2 a, float2 b) { return make_double2(a.x op b.x, a.y op b.y); }        \
  __device__ float2& operator op##=(float2& a, float2 b) { return a = pairs::narrowed(a op b); }
OPERATORS(+)
__global__ void k(float2* x, double2* y) { y[threadIdx.x] = x[threadIdx.x] + x[0]; }
}
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("float2 narrowed"));
  expect_compiles(text, "pairs::k");
}

// Behind the definition, beside the instances of another kernel, which is not there.
TEST(SourceText, WhatAMacroDeclaresOnceMoreStaysBehind) {
  auto source = parse_text(R"(
__global__ void backward(float* x);
template <bool training> __global__ void forward(float* x) { x[threadIdx.x] = training; }
__global__ void backward(float* x) { x[threadIdx.x] *= 2; }
#define INSTANCES                                                                                            \
  template __global__ void forward<true>(float*);                                                            \
  template __global__ void forward<false>(float*);                                                           \
  __global__ void backward(float* x);
INSTANCES
)");
  const std::string text = extract(source.get(), "backward");
  EXPECT_THAT(text, Not(HasSubstr("forward")));
  expect_compiles(text, "backward");
}

TEST(SourceText, WhatAMacroDeclaresEndsWhereItsCallDoes) {
  auto source = parse_text(R"(
template <class T> struct Limits;
#define LIMITS(type, most) template <> struct Limits<type> { static constexpr type value = most; }
#define WHOLE_LIMITS(type, most) LIMITS(type, most);
LIMITS(float, 2.f);
LIMITS(int, 3)
;
WHOLE_LIMITS(short, 4)
template <class T> __global__ void k(T* x) { x[threadIdx.x] = Limits<T>::value; }
template __global__ void k<float>(float*);
)");
  const std::string text = extract(source.get(), "k");
  expect_compiles(text, "k<float>");
  expect_compiles(text, "k<short>");
}

// As programs in other languages load kernels by their names; what the kernel calls stays as it is.
TEST(SourceText, AKernelIsTakenOutOfABlockOfCLinkage) {
  auto source = parse_text(R"(
extern "C" {
__device__ float twice(float x) { return 2 * x; }
__global__ void k(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = twice(x[threadIdx.x]);
}
}
)");
  const std::string text = extract(source.get(), "k");
  const std::size_t block = text.find("extern \"C\" {"), kernel = text.find("__global__");
  ASSERT_LT(block, kernel) << text;
  EXPECT_LT(text.find("}\n}", block), kernel) << text;
  EXPECT_EQ(text.find("extern", kernel), std::string::npos);
  expect_compiles(text, "k");
}

// Clang takes it as C++17, NVRTC does not.
TEST(SourceText, TypenameThatIsLeftOutAsksForCxx20) {
  const auto source = parse_text(R"(
template <class T> struct Traits { using number = T; };
template <class T> __device__ auto twice(T x) { return static_cast<Traits<T>::number>(x) * 2; }
template <class T> __global__ void k(T* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_EQ(standard_option(text), "-std=c++20");
  expect_compiles(text, "k<float>");
}

TEST(SourceText, SourcesOfCxx17AskForNothing) {
  const auto source = parse_text(R"(
template <class T> struct Traits { using number = T; struct base { T one = 1; }; };
template <class T> struct Own : Traits<T>::base { __device__ Own() : Traits<T>::base() {} };
template <class T> __device__ auto other(T x) { return static_cast<Traits<T>::number>(x); }
template <class T> __global__ void k(T* x) {
  typename Traits<T>::number one = Own<T>().one;
  x[threadIdx.x] += one;
}
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_EQ(standard_option(text), "-std=c++17");
  EXPECT_THAT(text, Not(HasSubstr("__cplusplus")));
  expect_compiles(text, "k<float>");
}

TEST(SourceText, ConceptsAskForCxx20) {
  const auto source = parse_text(R"(
template <class T> concept Number = requires(T x) { x + x; };
template <Number T> __global__ void k(T* x) { x[threadIdx.x] += T(1); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_EQ(standard_option(text), "-std=c++20");
  expect_compiles(text, "k<float>");
}

} // namespace
} // namespace lathe::refactor
