// What the host alone has a use for stays behind.
#include "tests/refactor/extract/extraction.h"
#include "tests/refactor/frontend/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::refactor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(HostParts, OperatorsOfClassesThatNothingElseNamesStayBehind) {
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

TEST(HostParts, ATypeThatTheLaunchersClassTakesFromAParameterBringsNothingOfItAlong) {
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

// Streams, strings and containers are for the host: what a class has for them stays behind.
TEST(HostParts, LeavesOutOperatorsOfTheHost) {
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

// Constexpr functions are the device's too, but not with types that there are none of there.
TEST(HostParts, LeavesOutConstantsOfTypesOfTheHost) {
  auto source = parse_text(R"(
#include <tuple>
#include <variant>
#include <torch/all.h>
struct Format {
  int bits;
  bool is_real;
  static constexpr Format integer(int bits) {
    TORCH_CHECK(bits > 0, "none");
    return {bits, false};
  }
  constexpr int64_t id() const { return std::apply([](auto... of) { return (int64_t(of) + ...); }, std::tuple_cat(std::make_tuple(bits), std::make_tuple(is_real))); }
  constexpr std::variant<int64_t, double> largest() const {
    if (is_real) return {real()};
    return {(int64_t(1) << bits) - 1};
  }
  double real() const;
};
inline constexpr auto kInt4 = Format::integer(4);
__global__ void k(int* x) { if constexpr (kInt4.id() == 4) x[threadIdx.x] = kInt4.bits; }
)");
  const std::string text = extract(source.get(), "k");
  EXPECT_THAT(text, Not(HasSubstr("variant")));
  EXPECT_THAT(text, HasSubstr("integer(int bits)"));
  expect_compiles(text, "k");
}

TEST(HostParts, LeavesOutMembersThatAreNotForTheDevice) {
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

TEST(HostParts, LeavesOutMembersOfTheHostThatHaveErrors) {
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

TEST(HostParts, AnErrorInWhatTheDeviceMayCallIsOne) {
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

TEST(HostParts, ChecksOfALoggingLibraryAreKept) {
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

TEST(HostParts, LeavesOutWhatAClassHasForTheHost) {
  auto source = parse_text(R"(
#include <ostream>
#include <string>
#include <vector>
namespace lib { struct Half; }
namespace host { void print_all(const lib::Half*, int); }
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
  friend void host::print_all(const Half*, int);
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
       {"ostream", "std::", "name()", "parse", "show", "take", "hear", "print_all", "friend", "template"})
    EXPECT_THAT(text, Not(HasSubstr(left_out)));
  expect_compiles(text, "k");
}

TEST(HostParts, SpecialisationsForTypesOfTheHostStayBehind) {
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

TEST(HostParts, NamesOfAClassForTypesOfTheHostStayBehind) {
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

TEST(HostParts, MembersThatOnlySayThatThereAreNoneStayBehind) {
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

// Nor do headers of DLPack and TVM FFI, of which only the launcher speaks.
TEST(HostParts, TheClassThatLaunchesStaysBehind) {
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
