// The stand-ins for the standard headers, against the real ones under nvcc: the same source must become the
// same machine code.
#include "tests/tuner/compile/compile_testing.h"

#include "tuner/base/subprocess.h"

#include <filesystem>

namespace lathe::test {
namespace {

constexpr const char* ALL = R"(
#include <algorithm>
#include <array>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <stdint.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T> struct traits {
  static_assert(std::is_same_v<std::decay_t<const T&>, T>);
  static_assert(std::is_floating_point_v<float> && std::is_integral_v<uint8_t> && !std::is_integral_v<float>);
  static_assert(std::is_same_v<std::conditional_t<sizeof(T) == 4, int, long>, int> == (sizeof(T) == 4));
  static_assert(std::is_same_v<std::common_type_t<int, float>, float> && std::is_signed_v<int8_t>);
  static_assert(std::numeric_limits<int>::max() == INT_MAX && std::numeric_limits<int8_t>::min() == -128);
  static_assert(std::numeric_limits<float>::max() == FLT_MAX && std::numeric_limits<double>::epsilon() == DBL_EPSILON);
  static_assert(std::numeric_limits<uint64_t>::max() == UINT64_MAX && std::numeric_limits<unsigned>::digits == 32);
  static_assert(std::max(3, 4) == 4 && std::min(3u, 4u) == 3u && std::gcd(12, 18) == 6 && std::lcm(4, 6) == 12);
  static_assert(std::max({2, 7, 5}) == 7 && std::min({sizeof(float), sizeof(char)}) == 1);
  static_assert(std::clamp(7, 0, 5) == 5 && std::make_index_sequence<5>::size() == 5);
  static_assert(sizeof(int64_t) == 8 && sizeof(std::size_t) == 8 && std::is_unsigned_v<std::size_t>);
  static_assert(std::is_same_v<std::make_unsigned_t<int>, unsigned> && std::is_pointer_v<T*> && !std::is_enum_v<int>);
  static_assert(std::numeric_limits<float>::round_style == std::round_to_nearest);
  static_assert(sizeof(std::byte) == 1 && std::to_integer<int>((std::byte{6} | std::byte{1}) << 1) == 14);
  static_assert((~std::byte{0xf0} & std::byte{0xff}) == std::byte{0x0f} && (std::byte{8} >> 3 ^ std::byte{1}) == std::byte{0});
  static_assert(std::numeric_limits<int>::round_style == std::round_toward_zero && std::denorm_present == 1);
  static_assert(std::is_fundamental_v<const float> && std::is_fundamental<void>::value);
  static_assert(std::is_fundamental_v<decltype(nullptr)> && !std::is_fundamental_v<T*>);
  static_assert(!std::is_fundamental_v<__nv_bfloat16>);
};
template <class T> struct twice : std::unary_function<T, T> {
  __device__ typename twice::result_type operator()(const typename twice::argument_type& x) const { return x + x; }
};
static_assert(std::plus<>()(2, 3) == 5 && std::minus<int>()(2, 3) == -1 && std::negate<>()(2) == -2);
static_assert(std::less<>()(2, 3) && !std::greater_equal<int>()(2, 3) && std::not_equal_to<>()(2, 3));
template <std::size_t... I> __device__ float sum(const float* x, std::index_sequence<I...>) { return (x[I] + ...); }

extern "C" __global__ void k(float* out, const float* in, const __nv_bfloat16* half, double* wide, unsigned n) {
  traits<float> checked;
  (void)checked;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], y = in[n - 1 - i];
  std::array<float, 4> a{x, y, x * y, x - y};
  float r = std::exp(x) + std::log1p(y) + std::tanh(x) + std::sqrt(std::abs(y)) + std::pow(std::fabs(x), y);
  r += std::max(x, y) - std::min(a[0], a[1]) + std::fma(x, y, a[2]) + std::floor(y) + std::erf(x);
  r += std::isinf(x) ? std::numeric_limits<float>::infinity() : std::isnan(y) ? -INFINITY : std::numeric_limits<float>::lowest();
  r += sum(a.data(), std::make_index_sequence<4>{}) + std::plus<float>()(x, y) + static_cast<float>(half[i]);
  uint64_t bits = static_cast<uint64_t>(i) * UINT32_MAX;
  int64_t shifted = static_cast<int64_t>(bits) >> 3;
  wide[i] = std::sqrt(wide[i]) + std::hypot(wide[i], 2.0) + static_cast<double>(shifted) + M_PI;
  std::memcpy(&out[2 * i], &r, sizeof r);
  out[2 * i + 1] = std::clamp(r, -1.0f, 1.0f);
}
)";

// Old code names nothing: what std has must not stand beside what is built in.
constexpr const char* WITHOUT_QUALIFICATION = R"(
#include <algorithm>
#include <cmath>
#include <cstdlib>
using namespace std;

template <class T> __device__ T of(T x, T y) {
  T r = abs(x) + sqrt(x) + pow(x, y) + fma(x, y, x) + floor(y) + max(x, y) + copysign(x, y);
  return isnan(r) || signbit(x) ? exp(x) : log(r);
}
extern "C" __global__ void k(float* x, double* y, int n, long long m) {
  static_assert(sizeof(exp(*x)) == 4 && sizeof(std::exp(*x)) == 4 && sizeof(abs(*y)) == 8 && sizeof(abs(n)) == 4);
  x[0] = of(x[0], x[1]) + abs(n) + std::abs(m) + ceil(n / 2.0);
  y[0] = of(y[0], y[1]);
}
)";

// What NVRTC's own overloads leave open, and what they take as it is.
constexpr const char* OF_SEVERAL_TYPES = R"(
#include <cmath>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void k(float* x, double* y, __half* h, __nv_bfloat16* b, int n, unsigned m, long l, long long q) {
  static_assert(sizeof(sqrt(n)) == 8 && sizeof(std::log2(m)) == 8 && sizeof(fmax(*x, *y)) == 8 && sizeof(pow(n, n)) == 8);
  static_assert(sizeof(fmax(*x, *x)) == 4 && sizeof(std::exp(*x)) == 4 && sizeof(fmin(*x, 1)) == 8 && sizeof(abs(n)) == 4);
  y[0] = sqrt(n) + std::log2(m) + floor(l) * exp(q) + sin(m) + tanh(n) + ceil(n / 2) + acos(q) + round(l);
  y[1] = pow(x[0], y[0]) + fmax(x[1], 0.5) + std::fmin(0.5, x[2]) + atan2(x[0], y[1]) + hypot(y[0], x[1]);
  y[2] = fmod(x[2], 2.0) + pow(n, n) + fdim(x[0], y[2]) + std::pow(n, 2) + fmax(n, n) + pow(x[3], m) + fmin(x[1], n);
  y[3] = min(size_t(n), int64_t(q)) + max(int64_t(l), size_t(m)) + min(int64_t(n), int64_t(l)) + max(uint64_t(m), size_t(q));
  x[4] = sqrt(float(h[0])) + expf(b[0]) + __half2float(hsqrt(h[1])) + fmaxf(h[0], b[1]);
}
)";

constexpr const char* ALL_OF_CXX20 = R"(
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <numbers>
#include <type_traits>

static_assert(std::has_single_bit(64u) && !std::has_single_bit(0u) && std::popcount(uint64_t(255)) == 8);
static_assert(std::countl_zero(1u) == 31 && std::countr_zero(uint64_t(8)) == 3 && std::countr_zero(uint16_t(0)) == 16);
static_assert(std::countr_one(7u) == 3 && std::countl_one(uint8_t(0xf0)) == 4 && std::bit_width(9u) == 4);
static_assert(std::bit_ceil(9u) == 16 && std::bit_ceil(0u) == 1 && std::bit_floor(9u) == 8 && std::bit_floor(0u) == 0);
static_assert(std::rotl(uint8_t(0x81), 1) == 0x03 && std::rotr(0x1u, 1) == 0x80000000u);
static_assert(std::endian::native == std::endian::little);
template <std::integral T> constexpr int kind(T) { return 1; }
template <std::floating_point T> constexpr int kind(T) { return 2; }
static_assert(kind(3u) == 1 && kind(3.f) == 2 && std::unsigned_integral<uint8_t> && std::signed_integral<int>);
struct base {};
struct derived : base {};
static_assert(std::derived_from<derived, base> && !std::derived_from<base, derived>);
static_assert(std::convertible_to<float, double> && !std::convertible_to<base, int> && std::same_as<int, int32_t>);
static_assert(std::invocable<int (*)(float), float> && !std::invocable<int (*)(float), base>);
static_assert(std::constructible_from<double, float> && std::totally_ordered<int> && !std::totally_ordered<base>);
static_assert(std::is_same_v<std::type_identity_t<int>, int> && std::is_standard_layout_v<base>);
static_assert(std::is_invocable_v<int (*)(float), float> && std::is_aggregate_v<base> && std::is_trivial_v<derived>);
constexpr int seven[7] = {};
static_assert(std::size(seven) == 7 && std::end(seven) - std::begin(seven) == 7);

template <std::integral T> __device__ T half(T value, std::type_identity_t<T> by) { return value >> std::bit_width(by); }
extern "C" __global__ void k(float* out, const float* in, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = std::bit_cast<float>(half(std::bit_cast<uint32_t>(in[i]), 1u)) * std::numbers::pi_v<float>;
}
)";

constexpr const char* TRAITS = R"(
#include <limits>
#include <type_traits>
#include <utility>

struct pod { int a; float b; };
struct counted { counted(); ~counted(); virtual void go(); int n; };
struct made { made(int); made(const made&) = delete; made& operator=(const made&) = delete; };
struct last final {};
enum kind { one };
static_assert(std::is_pod_v<pod> && !std::is_pod_v<counted> && std::is_volatile_v<volatile int> && !std::is_volatile_v<int>);
static_assert(std::is_function_v<int(float)> && !std::is_function_v<int (*)(float)> && !std::is_function_v<const int>);
static_assert(std::is_member_object_pointer_v<int pod::*> && std::is_member_function_pointer_v<void (counted::*)()>);
static_assert(!std::is_member_pointer_v<int*> && std::is_member_pointer_v<int pod::* const>);
static_assert(std::is_rvalue_reference_v<int&&> && !std::is_rvalue_reference_v<int&> && std::is_pointer_v<int* volatile>);
static_assert(std::is_object_v<pod> && !std::is_object_v<int&> && !std::is_object_v<void> && std::is_scalar_v<kind>);
static_assert(std::is_scalar_v<int pod::*> && !std::is_scalar_v<pod> && std::is_compound_v<pod> && !std::is_compound_v<int>);
static_assert(std::rank_v<int[2][3]> == 2 && std::extent_v<int[2][3]> == 2 && std::extent_v<int[2][3], 1> == 3);
static_assert(std::is_same_v<std::remove_all_extents_t<float[2][3]>, float> && std::alignment_of_v<double> == 8);
static_assert(std::is_same_v<std::add_cv_t<int>, const volatile int> && std::is_same_v<std::add_lvalue_reference_t<int>, int&>);
static_assert(std::is_polymorphic_v<counted> && !std::is_polymorphic_v<pod> && std::is_final_v<last> && !std::is_abstract_v<pod>);
static_assert(std::is_trivially_default_constructible_v<pod> && !std::is_trivially_default_constructible_v<counted>);
static_assert(std::is_constructible_v<made, int> && !std::is_default_constructible_v<made> && !std::is_copy_constructible_v<made>);
static_assert(!std::is_copy_assignable_v<made> && std::is_move_assignable_v<pod> && std::is_assignable_v<int&, float>);
static_assert(std::is_trivially_copy_assignable_v<pod> && std::is_nothrow_move_constructible_v<pod>);
static_assert(std::is_trivially_destructible_v<pod> && !std::is_trivially_destructible_v<counted> && std::is_destructible_v<counted>);
static_assert(!std::has_virtual_destructor_v<counted> && std::is_nothrow_assignable_v<int&, int>);
static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::max_digits10 == 17);
static_assert(std::numeric_limits<float>::max_exponent10 == 38 && std::numeric_limits<double>::min_exponent10 == -307);
static_assert(std::numeric_limits<unsigned>::is_modulo && !std::numeric_limits<int>::is_iec559 && std::numeric_limits<char32_t>::digits == 32);
static_assert(std::numeric_limits<volatile short>::max() == 32767 && std::numeric_limits<wchar_t>::is_signed);
constexpr std::pair<int, int> low{1, 2}, high{2, 0};
static_assert(low == std::make_pair(1, 2) && low != high && low < high && high > low);

extern "C" __global__ void k(float* x) { x[0] = std::as_const(x[1]) + std::numeric_limits<float>::round_error(); }
)";

constexpr const char* ALGORITHMS = R"(
#include <algorithm>
#include <array>
#include <numeric>

constexpr std::array<int, 5> sorted{1, 2, 2, 5, 9};
static_assert(std::lower_bound(sorted.begin(), sorted.end(), 2) - sorted.begin() == 1);
static_assert(std::upper_bound(sorted.begin(), sorted.end(), 2) - sorted.begin() == 3);
static_assert(std::binary_search(sorted.begin(), sorted.end(), 5) && !std::binary_search(sorted.begin(), sorted.end(), 4));
static_assert(*std::max_element(sorted.begin(), sorted.end()) == 9 && *std::min_element(sorted.begin(), sorted.end()) == 1);
static_assert(std::count(sorted.begin(), sorted.end(), 2) == 2 && std::find(sorted.begin(), sorted.end(), 5) - sorted.begin() == 3);
static_assert(std::any_of(sorted.begin(), sorted.end(), [](int x) { return x > 8; }));
static_assert(std::all_of(sorted.begin(), sorted.end(), [](int x) { return x > 0; }));
static_assert(std::none_of(sorted.begin(), sorted.end(), [](int x) { return x > 9; }));
static_assert(std::equal(sorted.begin(), sorted.end(), sorted.begin()) && sorted.front() == 1 && sorted.back() == 9 && !sorted.empty());
static_assert(std::accumulate(sorted.begin(), sorted.end(), 1, [](int a, int b) { return a * b; }) == 180);
static_assert(std::inner_product(sorted.begin(), sorted.end(), sorted.begin(), 0) == 115 && std::get<3>(sorted) == 5);
static_assert(std::clamp(7, 5, 0, [](int a, int b) { return a > b; }) == 5);
constexpr int turned() {
  int n[4] = {};
  std::iota(n, n + 4, 1);
  std::reverse(n, n + 4);
  std::transform(n, n + 4, n, [](int x) { return 2 * x; });
  return n[0] * 100 + n[3];
}
static_assert(turned() == 802);
constexpr bool copies() {
  int n[3] = {};
  return std::copy_n(sorted.begin(), 3, n) == n + 3 && n[2] == 2;
}
static_assert(copies());

extern "C" __global__ void k(float* x) {
  float mine[4] = {x[threadIdx.x], x[threadIdx.x + 1], x[threadIdx.x + 2], x[threadIdx.x + 3]};
  std::for_each(mine, mine + 4, [](float& v) { v += 1; });
  std::transform(mine, mine + 4, mine, [](float v) { return v * v; });
  x[threadIdx.x] = std::accumulate(mine, mine + 4, 0.0f);
}
)";

struct Dialect {
  std::string name, standard, text;
};

class StandIns : public testing::TestWithParam<Dialect> {};

INSTANTIATE_TEST_SUITE_P(Dialects, StandIns,
                         testing::Values(Dialect{"cxx17", "-std=c++17", ALL},
                                         Dialect{"cxx20", "-std=c++20", ALL_OF_CXX20},
                                         Dialect{"traits", "-std=c++17", TRAITS},
                                         Dialect{"algorithms", "-std=c++20", ALGORITHMS},
                                         Dialect{"cxx17_unqualified", "-std=c++17", WITHOUT_QUALIFICATION},
                                         Dialect{"several_types", "-std=c++17", OF_SEVERAL_TYPES}),
                         [](const auto& dialect) { return dialect.param.name; });

TEST_P(StandIns, MeanWhatTheRealHeadersMean) {
  const auto& [name, standard, text] = GetParam();
  const auto ours = compile_kernel(text, "k", {standard}, "sm_90");
  ASSERT_TRUE(ours.ok()) << ours.error().sentence();

  const auto toolkit = find_cuda_toolkit();
  ASSERT_TRUE(toolkit.ok());
  const std::filesystem::path nvcc = toolkit->includes[0].parent_path() / "bin/nvcc";
  const std::filesystem::path fallback =
      toolkit->includes[0].parent_path().parent_path().parent_path() / "bin/nvcc";
  const std::filesystem::path program = std::filesystem::exists(nvcc) ? nvcc : fallback;
  if (!std::filesystem::exists(program))
    GTEST_SKIP() << "this toolkit has no nvcc";
  auto folder = TemporaryFolder::create("nvcc");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_file(folder->path() / "k.cu", text).ok());
  SubprocessOptions options;
  options.timeout = std::chrono::seconds(120);
  const auto run =
      run_subprocess({program.string(), "-cubin", "-arch=sm_90", standard, "-O3", "--expt-relaxed-constexpr",
                      "-o", (folder->path() / "k.cubin").string(), (folder->path() / "k.cu").string()},
                     options);
  ASSERT_TRUE(run.ok() && run->succeeded()) << (run.ok() ? run->errors : run.error().sentence());
  const auto theirs = kernel_image(read_file(folder->path() / "k.cubin").value(), "k");
  ASSERT_TRUE(theirs.ok());
  const KernelImage mine = image(*ours);
  EXPECT_EQ(mine.registers, theirs->registers);
  EXPECT_TRUE(mine.text == theirs->text)
      << mine.text.size() << " bytes against nvcc's " << theirs->text.size();
}

TEST(StandInHeaders, AKernelMayWaitForTheOneBefore) {
  const auto compiled = compile_kernel(R"(
__global__ void k(int* p) {
  cudaGridDependencySynchronize();
  p[0] = 1;
  cudaTriggerProgrammaticLaunchCompletion();
})",
                                       "k", {}, "sm_90");
  EXPECT_TRUE(compiled.ok()) << compiled.error().sentence();
  EXPECT_TRUE(compile_kernel("__global__ void k(int* p) { cudaGridDependencySynchronize(); p[0] = 1; }", "k",
                             {}, "sm_80")
                  .ok());
}

TEST(StandInHeaders, TheCHeadersAreThereToo) {
  const auto compiled = compile_kernel(R"(
#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <mma.h>
__global__ void k(uint32_t* p, float x) {
  assert(x < FLT_MAX);
  p[0] = isinf(x) ? UINT_MAX : (uint32_t)fmaxf(x, -INFINITY);
  __asm__ __volatile__("" ::: "memory");
})",
                                       "k", {}, "sm_90");
  EXPECT_TRUE(compiled.ok()) << compiled.error().sentence();
}

} // namespace
} // namespace lathe::test
