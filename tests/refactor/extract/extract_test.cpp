// What a kernel reaches comes along, in order, and compiles alone.
#include "tests/refactor/extract/extraction.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::HasSubstr;
using testing::Not;

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

// A friend that is defined in a class template is one more instance that finds operators.
TEST(Extract, OperatorsThatAFriendOfAnInstanceFinds) {
  auto source = parse_text(R"(
__device__ float2 operator+(const float2& a, const float2& b) { return {a.x + b.x, a.y + b.y}; }
__device__ void operator+=(float2& a, const float2& b) { a = a + b; }
__device__ void operator-=(float2& a, const float2& b) { a.x -= b.x; }
template <class T> struct Traits;
template <> struct Traits<float> { using type = float2; };
template <class T> struct Two {
  typename Traits<T>::type x, y;
  friend __device__ void operator+=(Two& a, const Two& b) {
    a.x += b.x;
    a.y += b.y;
  }
  friend __device__ void operator-=(Two& a, const Two& b) { a.x -= b.x; }
};
__global__ void k(Two<float>* out) { out[threadIdx.x] += out[0]; }
void run(Two<float>* x) { k<<<1, 64>>>(x); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, HasSubstr("void operator+=(float2& a"));
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

// One name, one definition after the other: each stands where it did, and ends where it did.
TEST(Extract, MacrosThatAreDefinedAnew) {
  auto source = parse_text(R"(
#define NUMBER float
#define SCALE INNER
#define INNER 2
__device__ NUMBER twice(NUMBER x) { return SCALE * x; }
#undef NUMBER
#undef INNER
#undef SCALE
#define NUMBER double
#define SCALE INNER
#define INNER 3
__device__ NUMBER thrice(NUMBER x) { return SCALE * x; }
#undef NUMBER
#undef SCALE
#define UNUSED 1
#undef UNUSED
template <class NUMBER> __device__ NUMBER same(NUMBER x) { return x; }
__global__ void k(float* out, double* wide, int* whole) {
  out[threadIdx.x] = twice(out[threadIdx.x]);
  wide[threadIdx.x] = thrice(wide[threadIdx.x]);
  whole[threadIdx.x] = same(whole[threadIdx.x]);
}
void run(float* x, double* y, int* z) { k<<<1, 64>>>(x, y, z); }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_LT(text.find("#define NUMBER float"), text.find("twice("));
  EXPECT_LT(text.find("#undef NUMBER"), text.find("#define NUMBER double"));
  EXPECT_LT(text.find("#define INNER 2"), text.find("#define INNER 3"));
  EXPECT_LT(text.rfind("#undef NUMBER"), text.find("same("));
  EXPECT_THAT(text, Not(HasSubstr("UNUSED")));
  expect_compiles(text, "k");
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

TEST(Extract, AKernelThatIsDefinedOutsideItsNamespaces) {
  const auto source = parse_text(R"(
namespace outer { namespace inner {
struct Step { int width; };
__global__ void k(float* x, Step step);
} }
__global__ void outer::inner::k(float* x, Step step) { x[threadIdx.x * step.width] = 1; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, testing::HasSubstr("__global__ void k(float* x, Step step) {"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("outer::inner::k")));
  expect_compiles(text, "outer::inner::k");
}

} // namespace
} // namespace lathe::refactor
