#include "refactor/extract/extract.h"
#include "refactor/frontend/standard.h"
#include "tests/refactor/extract/ptx.h"
#include "tests/refactor/frontend/sources.h"

#include "tuner/base/files.h"
#include "tuner/compile/compile.h"

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

std::string extract(ParsedSource* source, const std::string& name) {
  if (!source)
    return "";
  const auto kernel = find_kernel(*source, name);
  if (!kernel.ok()) {
    ADD_FAILURE() << kernel.error().sentence();
    return "";
  }
  auto extracted = extract_kernel(*source, *kernel);
  if (!extracted.ok()) {
    ADD_FAILURE() << extracted.error().sentence();
    return "";
  }
  return extracted->text;
}

// The text must compile alone, and be its own extraction's source.
void expect_compiles(const std::string& text, const std::string& instance) {
  const auto compiled = compile_kernel(text, instance, {standard_option(text)}, "sm_90");
  EXPECT_TRUE(compiled.ok()) << compiled.error().sentence() << "\n" << text;
  auto again = parse_text(text);
  ASSERT_TRUE(again);
  EXPECT_THAT(again->errors(), IsEmpty()) << text;
}

TEST(Extract, OperatorsOfClassesThatNothingElseNamesStayBehind) {
  const auto source = parse_text(R"(
namespace lib {
struct Money {
  Money(const char* text);
  long cents;
};
struct Pair { float a, b; };
bool operator>=(const Money& a, const Money& b);
__device__ bool operator>=(const Pair& a, const Pair& b) { return a.a >= b.a && a.b >= b.b; }
__device__ Pair pair_of(float a) { return {a, a}; }
template <class T> __global__ void k(const T* x, T* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] >= x[0] && pair_of(1) >= pair_of(n);
}
}
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("Money")));
  EXPECT_THAT(text, HasSubstr("operator>=(const Pair& a"));
  expect_compiles(text, "lib::k<float>");
}

TEST(Extract, ATypeThatTheLaunchersClassTakesFromAParameterBringsNothingOfItAlong) {
  const auto source = parse_text(R"(
#include <string>
template <class T> struct Converted { typedef T type; };
template <class T> struct Layer {
  typedef typename Converted<T>::type Tc;
  std::string name();
  void run(Tc* x, int n);
};
template <class T> __global__ void k(T* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] *= x[threadIdx.x];
}
template <class T> void Layer<T>::run(Tc* x, int n) { k<Tc><<<1, 128>>>(x, n); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("Layer")));
  expect_compiles(text, "k<float>");
}

TEST(Extract, ATensAtomicsHaveAStandIn) {
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

// NVRTC knows none of the libraries' headers; what stands below /usr/include is no part of the user's source.
TEST(Extract, TypesOfTheToolkitsLibrariesAreWrittenOut) {
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

TEST(Extract, ReachesOverloadsThatOnlyAnInstanceFinds) {
  auto source = parse_text(R"(
struct Options { int terms; };
struct Pole { float x, y; };
// The declaration that the callers see has gone out of step with the definition.
template <class T> __device__ float inner(T poles, Options options);
template <class T> __device__ float outer(T poles, int terms);
__global__ void k(float* out, const Pole* poles, int terms) { out[threadIdx.x] = outer(poles, terms); }
template <class T> __device__ float outer(T poles, int terms) { return inner(poles, terms); }
template <class T> __device__ float inner(T poles, int terms) { return poles[terms].x; }
template <class T> __device__ float inner(T poles, const char* unused) { return 0; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("float inner(T poles, int terms)"));
  EXPECT_THAT(text, Not(HasSubstr("unused")));
  expect_compiles(text, "k");
}

// Streams, strings and containers are for the host: what a class has for them stays behind.
TEST(Extract, LeavesOutOperatorsOfTheHost) {
  auto source = parse_text(R"(
#include <ostream>
struct Matrix { double* elements; };
std::ostream& operator<<(std::ostream& out, const Matrix& matrix) { return out << matrix.elements[0]; }
struct Bits { unsigned bits; };
__device__ unsigned operator<<(Bits b, int n) { return b.bits << n; }
template <typename T> __global__ void k(unsigned* out, T x) { out[threadIdx.x] = x << 2; }
void run(unsigned* out, Bits x) { k<<<1, 32>>>(out, x); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("operator<<(Bits"));
  EXPECT_THAT(text, Not(HasSubstr("Matrix")));
  expect_compiles(text, "k<int>");
}

TEST(Extract, LeavesOutMembersThatAreNotForTheDevice) {
  const auto source = parse_text(R"(
struct Failure { int code; };
class Image { public: float* data() const; int columns() const; };
template <class T> class View {
public:
  View() = default;
  explicit View(const Image& image) : data_(image.data()), columns_(image.columns()) { check(image); }
  View(T* data, int columns) : data_(data), columns_(columns) {}
  void check(const Image& image) const { Failure failure{image.columns()}; report(failure); }
  void report(const Failure& failure) const;
  int scaled(int by) const { return columns_ * by; }
  constexpr int width() const { return 4; }
  __device__ T& at(int row, int column) const { return data_[row * columns_ + column]; }
  __host__ __device__ int area(int rows) const { return scaled(rows); }
private:
  T* data_ = nullptr;
  int columns_ = 0;
};
__global__ void k(View<float> out, int rows) {
  for (int i = threadIdx.x; i < rows; i += blockDim.x) out.at(i, 0) = out.width();
}
)");
  const std::string text = extract(source.get(), "k");
  for (const char* left_out : {"Image", "Failure", "check", "report"})
    EXPECT_THAT(text, Not(HasSubstr(left_out)));
  for (const char* kept : {"View() = default", "scaled", "width", "at(int row"})
    EXPECT_THAT(text, HasSubstr(kept));
  expect_compiles(text, "k");
}

TEST(Extract, LeavesOutMembersOfTheHostThatHaveErrors) {
  const auto source = parse_text(R"(
struct Rows {
  float* data;
  int count;
  explicit Rows(int n) : count(n) { REQUIRE(n > 0, "no rows"); }
  Rows(const Rows&) = default;
  void grow(int n) { count = n; lib::log("grown", n); }
};
__global__ void k(Rows rows) { rows.data[threadIdx.x] = rows.count; }
)");
  const std::string text = extract(source.get(), "k");
  for (const char* left_out : {"REQUIRE", "grow"})
    EXPECT_THAT(text, Not(HasSubstr(left_out)));
  EXPECT_THAT(text, HasSubstr("Rows(const Rows&) = default"));
  expect_compiles(text, "k");
}

TEST(Extract, AnErrorInWhatTheDeviceMayCallIsOne) {
  const auto source = parse_text(R"(
struct Rows {
  float* data;
  __host__ __device__ float* at(int row) const { REQUIRE(row >= 0); return data + row; }
};
__global__ void k(Rows rows) { *rows.at(threadIdx.x) = 1; }
)");
  const auto kernel = find_kernel(*source, "k");
  ASSERT_TRUE(kernel.ok());
  const auto extracted = extract_kernel(*source, *kernel);
  ASSERT_FALSE(extracted.ok());
  EXPECT_THAT(extracted.error().sentence(), HasSubstr("REQUIRE"));
}

TEST(Extract, ChecksOfALoggingLibraryAreKept) {
  const auto source = parse_text(R"(
#include <glog/logging.h>
struct Rows {
  float* data;
  __host__ __device__ float* at(int row) const { CHECK_GE(row, 0) << "row " << row; return data + row; }
};
__global__ void k(Rows rows) { *rows.at(threadIdx.x) = 1; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("lathe_logging"));
  expect_compiles(text, "k");
}

TEST(Extract, CopiesThroughAPipelineNeedItsHeader) {
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

TEST(Extract, LeavesOutWhatAClassHasForTheHost) {
  auto source = parse_text(R"(
#include <ostream>
#include <string>
#include <vector>
namespace lib {
struct Half {
  float value;
  __host__ __device__ Half twice() const { return {2 * value}; }
  std::string name() const { return "half"; }
  std::string text() const { return no_such_function(value); }
  static Half parse(const std::string& text);
  // How people see it.
  friend std::ostream& operator<<(std::ostream& out, const Half& half) { return out << half.value; }
  template <class Stream, class Traits>
  friend std::basic_ostream<Stream, Traits>& show(std::basic_ostream<Stream, Traits>& out, Half half) {
    return out << half.value;
  }
  friend void take(std::vector<Half> all);
  friend struct std::hash<Half>;
  template <class Stream, class Traits>
  friend std::basic_istream<Stream, Traits>& hear(std::basic_istream<Stream, Traits>&, Half&);
};
template <class Stream, class Traits>
std::basic_istream<Stream, Traits>& hear(std::basic_istream<Stream, Traits>& in, Half& half) { return in >> half.value; }
}
__global__ void k(float* out) { out[threadIdx.x] = lib::Half{1}.twice().value; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("Half twice() const"));
  for (const char* left_out :
       {"ostream", "std::", "name()", "parse", "show", "take", "hear", "friend", "template"})
    EXPECT_THAT(text, Not(HasSubstr(left_out)));
  expect_compiles(text, "k");
}

TEST(Extract, TuplesOfTheStandardLibrary) {
  auto source = parse_text(R"(
#include <tuple>
using Kinds = std::tuple<char, float>;
__global__ void k(float* out) { out[threadIdx.x] = sizeof(std::tuple_element<1, Kinds>::type); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("#include <tuple>"));
  expect_compiles(text, "k");
}

TEST(Extract, OperatorsThatOnlyAnInstanceFinds) {
  auto source = parse_text(R"(
namespace lib {
struct Pair { float a, b; };
__device__ Pair operator/(const Pair& x, const Pair& y) { return {x.a / y.a, x.b / y.b}; }
__device__ Pair operator-(const Pair& x) { return {-x.a, -x.b}; }
__device__ bool operator!=(const Pair& x, const Pair& y) { return x.a != y.a || x.b != y.b; }
__device__ Pair operator%(const Pair& x, const Pair& y) { return y; }
}
template <class T> __global__ void k(T* x, int n) {
  const int i = threadIdx.x;
  if (i < n && x[i] != x[0]) x[i] = -x[i] / x[n % 3];
}
void run(lib::Pair* x, int n) { k<<<1, 64>>>(x, n); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("operator%")));
  EXPECT_THAT(text, HasSubstr("operator/"));
  EXPECT_THAT(text, HasSubstr("Pair operator-"));
  EXPECT_THAT(text, HasSubstr("operator!="));
}

TEST(Extract, SpecialisationsForTypesOfTheHostStayBehind) {
  auto source = parse_text(R"(
#include <complex>
#include <string>
template <class T> struct RealOf { using type = T; };
template <> struct RealOf<std::complex<float>> { using type = float; };
template <> struct RealOf<std::string> { using type = double; };
template <> struct RealOf<float2> { using type = float; };
template <class T> __global__ void k(T* x, typename RealOf<T>::type by) { x[threadIdx.x].x *= by; }
void run(float2* x) { k<<<1, 64>>>(x, 2.0f); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("RealOf<float2>"));
  EXPECT_THAT(text, Not(HasSubstr("std::")));
  expect_compiles(text, "k<float2>");
}

TEST(Extract, UsingDirectivesOfUnnamedNamespacesAreKept) {
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

TEST(Extract, ADeclarationMayBeTheFilesLastToken) {
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

TEST(Extract, TuplesOfThrust) {
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

TEST(Extract, ReachesFriendsOfOtherNamespaces) {
  auto source = parse_text(R"(
namespace lib {
namespace detail { template <class T> struct caster { static __device__ T cast(float x) { return T(x); } }; }
class Half {
  template <class T> friend struct detail::caster;
public:
  float value;
};
}
__global__ void k(lib::Half* out) { out[threadIdx.x].value = 1; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("friend struct detail::caster"));
  expect_compiles(text, "k");
}

TEST(Extract, ReachesFunctionsTypesConstantsAndMacrosInOrder) {
  auto source = parse_text(R"(
#include <cstdint>
#include <cuda_fp16.h>
#include <vector>
#define UNUSED_MACRO 3
#define WIDTH 4
#define HALF_WIDTH (WIDTH / 2)
namespace lib {
namespace detail {
// How much is added.
constexpr int kShift = HALF_WIDTH;
struct Unused { int x; };
template <typename T> struct Traits { static constexpr int rows = 1; };
template <> struct Traits<float> { static constexpr int rows = 2; };
template <typename T> __device__ T twice(T x) { return x + x; }
}
using index_t = uint32_t;
__device__ __forceinline__ float helper(float x);
struct Pair { float a, b; __device__ float sum() const; };
__device__ float Pair::sum() const { return a + b; }
template <typename T>
__global__ void __launch_bounds__(128) kernel(const T* __restrict__ in, T* out, index_t n) {
  index_t i = blockIdx.x * blockDim.x + threadIdx.x; // one element a thread
  Pair p{helper(float(in[i])), float(detail::kShift)};
  if (i < n) out[i] = T(detail::twice(p.sum()) * detail::Traits<T>::rows);
}
__device__ __forceinline__ float helper(float x) { return x * WIDTH; }
__global__ void other(float* x) { *x = UNUSED_MACRO; }
}
void host(std::vector<int>& v) { v.clear(); }
)");
  const std::string text = extract(source.get(), "kernel");
  EXPECT_THAT(text, HasSubstr("// How much is added.\nconstexpr int kShift = HALF_WIDTH;"));
  EXPECT_THAT(text, HasSubstr("// one element a thread"));
  EXPECT_THAT(text, HasSubstr("template <> struct Traits<float>"));
  EXPECT_THAT(text, HasSubstr("Pair::sum() const { return a + b; }"));
  EXPECT_THAT(text, HasSubstr("#define WIDTH 4"));
  for (const char* foreign : {"UNUSED_MACRO", "Unused", "other", "host", "<vector>"})
    EXPECT_THAT(text, Not(HasSubstr(foreign)));
  EXPECT_LT(text.find("#define WIDTH"), text.find("kShift"));
  expect_compiles(text, "lib::kernel<float>");
  expect_compiles(text, "lib::kernel<__half>");
}

TEST(Extract, HeadersOfTheRepositoryAndConditionalCode) {
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

TEST(Extract, FunctorsAndTraitsOfTheLaunches) {
  auto source = parse_text(R"(
struct Square { __device__ float operator()(float x) const { return x * x; } };
__device__ float negate(float x) { return -x; }
template <int N> struct Config { static constexpr int count = N; };
template <class Op, float (*f)(float), class C> __global__ void map(float* x) {
  for (int i = 0; i < C::count; ++i) x[i] = Op{}(f(x[i]));
}
template <class Op, float (*f)(float)> void launch(float* x) {
  using C = Config<4>;
  map<Op, f, C><<<1, 1>>>(x);
}
void entry(float* x) { launch<Square, negate>(x); }
)");
  const std::string text = extract(source.get(), "map");
  expect_compiles(text, "map<Square, negate, Config<4>>");
  EXPECT_THAT(text, Not(HasSubstr("entry")));
}

TEST(Extract, WhatAGivenTemplateArgumentNames) {
  auto source = parse_text(R"(
namespace ops {
struct Other { static constexpr int count = 2; };
template <int N> struct Config { static constexpr int count = N; };
template <class C> __global__ void k(float* x) { x[threadIdx.x] = C::count; }
}
)");
  ASSERT_TRUE(source);
  const auto kernel = find_kernel(*source, "k");
  ASSERT_TRUE(kernel.ok());
  const auto extracted = extract_kernel(*source, *kernel, {"Config<4>"});
  ASSERT_TRUE(extracted.ok()) << extracted.error().sentence();
  expect_compiles(extracted->text, "ops::k<ops::Config<4>>");
  EXPECT_THAT(extracted->text, Not(HasSubstr("Other")));
}

TEST(Extract, StandInTypesAreListedAndCompile) {
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
TEST(Extract, LimitsOfStandInTypesAreConstants) {
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

TEST(Extract, WhatIsBrokenIsRefusedWithThePlace) {
  auto source = parse_text("template <class T> __device__ T broken(T x) { return x * missing_constant; }\n"
                           "__global__ void k(float* x) { x[0] = broken(x[0]); }\n");
  ASSERT_TRUE(source);
  const auto kernel = find_kernel(*source, "k");
  ASSERT_TRUE(kernel.ok());
  const auto extracted = extract_kernel(*source, *kernel);
  ASSERT_FALSE(extracted.ok());
  EXPECT_THAT(extracted.error().sentence(), HasSubstr("missing_constant"));
  EXPECT_THAT(extracted.error().sentence(), HasSubstr("input.cu:1"));
}

TEST(Extract, VariablesThatAnotherTranslationUnitDefinesAreNamed) {
  const auto extracted = [](const std::string& declaration) {
    auto source = parse_text(declaration + R"(
__device__ float scaled(float x) { return x * table[1]; }
__global__ void k(float* x) {
  extern __shared__ float room[];
  room[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = scaled(room[threadIdx.x]);
}
)");
    const auto kernel = find_kernel(*source, "k");
    EXPECT_TRUE(kernel.ok());
    return extract_kernel(*source, *kernel);
  };
  const auto linked = extracted("extern __device__ float table[];\n");
  ASSERT_FALSE(linked.ok());
  EXPECT_THAT(linked.error().sentence(),
              HasSubstr("'table', a variable of the device that another translation"));
  const auto own = extracted("extern __constant__ float table[];\n__constant__ float table[2] = {1, 2};\n");
  EXPECT_TRUE(own.ok()) << own.error().sentence();
}

TEST(Extract, NamesOfAClassForTypesOfTheHostStayBehind) {
  auto source = parse_text(R"(
#include <functional>
#include <string>
struct Tree {
  struct Node { int left, right; };
  typedef std::function<void(Node&)> Visit;
  using Label = std::string;
  void walk(int from, Visit visit);
  Label label() const;
};
__global__ void k(const Tree::Node* nodes, int* x) { x[threadIdx.x] = nodes[threadIdx.x].left; }
)");
  ASSERT_TRUE(source);
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("Visit")));
  EXPECT_THAT(text, Not(HasSubstr("Label")));
  expect_compiles(text, "k");
}

TEST(Extract, FunctionsThatAnotherTranslationUnitDefinesAreNamed) {
  const auto extracted = [](const std::string& declaration) {
    auto source = parse_text(declaration + R"(
__global__ void k(float* x) {
  if (x[threadIdx.x] > 1.f) push(threadIdx.x, expf(x[threadIdx.x]));
}
)");
    const auto kernel = find_kernel(*source, "k");
    EXPECT_TRUE(kernel.ok());
    return extract_kernel(*source, *kernel);
  };
  const auto linked = extracted("__device__ void push(int neuron, float weight);\n");
  ASSERT_FALSE(linked.ok());
  EXPECT_THAT(linked.error().sentence(),
              HasSubstr("'push', a function for the device that another translation"));
  const auto own = extracted("__device__ void push(int neuron, float weight);\n"
                             "__device__ void push(int neuron, float weight) { __threadfence(); }\n");
  EXPECT_TRUE(own.ok()) << own.error().sentence();
}

TEST(Extract, DirectivesAliasesLinkageAndGeneratedKernels) {
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
TEST(Extract, ADirectiveOfANamespaceWhoseHeaderIsNotNeeded) {
  auto source = parse_text(R"(
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void k(__half* x) { x[threadIdx.x] = __float2half(1.f); }
)");
  expect_compiles(extract(source.get(), "k"), "k");
}

TEST(Extract, ASpecialisationBringsWhatItSpecialises) {
  auto source = parse_text(R"(
template <class Generator, class Real> class Uniform;
template <class Generator> class Uniform<Generator, float> {
public:
  float low;
  __device__ float operator()(Generator generator) { return generator.key * low; }
};
struct Generator { unsigned key; };
template <class Distribution> __global__ void k(float* x, Generator generator, Distribution from) {
  x[threadIdx.x] = from(generator);
}
template <class Distribution> struct Fill {
  void run(float* x, Distribution from) { k<<<1, 32>>>(x, Generator{1}, from); }
};
template struct Fill<Uniform<Generator, float>>;
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("class Uniform;"));
  expect_compiles(text, "k<Uniform<Generator, float>>");
}

TEST(Extract, TypesThatTheSystemHasNamedBeforeAreTheSystems) {
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

TEST(Extract, FilesThatKeptTextIncludesAreNotIncludedAgain) {
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
TEST(Extract, WhatAMacroDeclaresBesideIsFollowed) {
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

TEST(Extract, WhatAMacroDeclaresEndsWhereItsCallDoes) {
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
TEST(Extract, AKernelIsTakenOutOfABlockOfCLinkage) {
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

TEST(Extract, MembersThatOnlySayThatThereAreNoneStayBehind) {
  auto source = parse_text(R"(
#include <string>
#include <stdexcept>
std::string where(int depth);
template <class T> struct Ops {
  static __host__ __device__ T half(T) { throw std::runtime_error(where(1)); }
  static __host__ __device__ T twice(T) { std::string text = where(2); return T(text.size()); }
};
template <> struct Ops<float> {
  static __host__ __device__ float half(float x) { return x / 2; }
  static __host__ __device__ float twice(float x) { return 2 * x; }
};
__global__ void k(float* x) { *x = Ops<float>::half(*x); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("where")));
  EXPECT_THAT(text, HasSubstr("x / 2"));
  expect_compiles(text, "k");
}

// Clang takes it as C++17, NVRTC does not.
TEST(Extract, TypenameThatIsLeftOutAsksForCxx20) {
  const auto source = parse_text(R"(
template <class T> struct Traits { using number = T; };
template <class T> __device__ auto twice(T x) { return static_cast<Traits<T>::number>(x) * 2; }
template <class T> __global__ void k(T* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_EQ(standard_option(text), "-std=c++20");
  expect_compiles(text, "k<float>");
}

TEST(Extract, SourcesOfCxx17AskForNothing) {
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

TEST(Extract, ConceptsAskForCxx20) {
  const auto source = parse_text(R"(
template <class T> concept Number = requires(T x) { x + x; };
template <Number T> __global__ void k(T* x) { x[threadIdx.x] += T(1); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_EQ(standard_option(text), "-std=c++20");
  expect_compiles(text, "k<float>");
}

TEST(Extract, ComplexNumbersOfPyTorchAreKept) {
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

// Nor do headers of DLPack and TVM FFI, of which only the launcher speaks.
TEST(Extract, TheClassThatLaunchesStaysBehind) {
  const auto source = parse_text(R"(
#include <tvm/ffi/container/tensor.h>
#include <bit>
#include <concepts>
template <std::integral N> __device__ N up(N n, int by) { return (n + by - 1) / by; }
template <class T, int bits, bool wait> __global__ void k(T* x, int n) {
  if (threadIdx.x < up(n, std::has_single_bit(unsigned(bits)) ? 1 << bits : bits)) x[threadIdx.x] += T(1);
}
template <class T, int page, bool wait> struct Operator {
  static constexpr int bits = std::countr_zero(unsigned(page));
  static void run(const tvm::ffi::TensorView x) {
    k<T, bits, wait><<<1, 64>>>(static_cast<T*>(x.data_ptr()), x.size(0));
  }
};
)");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->errors(), IsEmpty());
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("Operator")));
  EXPECT_THAT(text, Not(HasSubstr("TensorView")));
  expect_compiles(text, "k<float, 4, true>");
}

} // namespace
} // namespace lathe::refactor
