// CUDA's arithmetic functions that C++ lacks: conversions with a rounding mode, fast variants, integer
// intrinsics, bit casts. The fast variants (__expf, __fdividef, ...) are the accurate functions: a kernel
// that needs their error is wrong.
#pragma once

#include <bit>
#include <cfenv>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace lathe_host {

template <class To, class From> LATHE_INLINE To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

enum class Rounding { nearest, zero, down, up };

// A real to an integer as PTX's cvt does: saturating, NaN becomes 0.
template <class To, class From> LATHE_INLINE To to_integer(From value, Rounding rounding) {
  const From rounded = rounding == Rounding::nearest ? std::nearbyint(value)
                       : rounding == Rounding::zero  ? std::trunc(value)
                       : rounding == Rounding::down  ? std::floor(value)
                                                     : std::ceil(value);
  using Limits = std::numeric_limits<To>;
  if (!(rounded == rounded))
    return sizeof(To) == 8
               ? (std::is_signed<To>::value ? Limits::min() : static_cast<To>(Limits::min() - 1 + 0))
               : To(0);
  // 2^digits is exact in every real format that comes here.
  if (rounded >= std::ldexp(From(1), Limits::digits))
    return Limits::max();
  if (rounded <= static_cast<From>(Limits::min()))
    return Limits::min();
  return static_cast<To>(rounded);
}

// An exact value (given as a wider real) to To with a rounding mode.
template <class To, class From> LATHE_INLINE To round_to(From value, Rounding rounding) {
  const To near = static_cast<To>(value);
  if (rounding == Rounding::nearest || static_cast<From>(near) == value || near != near)
    return near;
  const bool above = static_cast<From>(near) > value;
  const bool want_lower = rounding == Rounding::down || (rounding == Rounding::zero && value > 0);
  if (above == want_lower)
    return std::nextafter(near, want_lower ? -std::numeric_limits<To>::infinity()
                                           : std::numeric_limits<To>::infinity());
  return near;
}

} // namespace lathe_host

#define LATHE_DEVICE static LATHE_INLINE __attribute__((unused))

// Bit casts.
LATHE_DEVICE int __float_as_int(float x) {
  return lathe_host::bits_as<int>(x);
}
LATHE_DEVICE unsigned __float_as_uint(float x) {
  return lathe_host::bits_as<unsigned>(x);
}
LATHE_DEVICE float __int_as_float(int x) {
  return lathe_host::bits_as<float>(x);
}
LATHE_DEVICE float __uint_as_float(unsigned x) {
  return lathe_host::bits_as<float>(x);
}
LATHE_DEVICE long long __double_as_longlong(double x) {
  return lathe_host::bits_as<long long>(x);
}
LATHE_DEVICE double __longlong_as_double(long long x) {
  return lathe_host::bits_as<double>(x);
}
LATHE_DEVICE int __double2hiint(double x) {
  return static_cast<int>(lathe_host::bits_as<unsigned long long>(x) >> 32);
}
LATHE_DEVICE int __double2loint(double x) {
  return static_cast<int>(lathe_host::bits_as<unsigned long long>(x));
}
LATHE_DEVICE double __hiloint2double(int hi, int lo) {
  return lathe_host::bits_as<double>(static_cast<unsigned long long>(static_cast<unsigned>(hi)) << 32 |
                                     static_cast<unsigned>(lo));
}

// Conversions. `long double` holds every 64-bit integer.
#define LATHE_ROUNDINGS(M, ...)                                                                              \
  M(rn, lathe_host::Rounding::nearest, __VA_ARGS__)                                                          \
  M(rz, lathe_host::Rounding::zero, __VA_ARGS__)                                                             \
  M(rd, lathe_host::Rounding::down, __VA_ARGS__)                                                             \
  M(ru, lathe_host::Rounding::up, __VA_ARGS__)
#define LATHE_REAL_TO_INTEGER(suffix, mode, name, to, from)                                                  \
  LATHE_DEVICE to __##name##_##suffix(from x) {                                                              \
    return lathe_host::to_integer<to>(x, mode);                                                              \
  }
LATHE_ROUNDINGS(LATHE_REAL_TO_INTEGER, float2int, int, float)
LATHE_ROUNDINGS(LATHE_REAL_TO_INTEGER, float2uint, unsigned, float)
LATHE_ROUNDINGS(LATHE_REAL_TO_INTEGER, float2ll, long long, float)
LATHE_ROUNDINGS(LATHE_REAL_TO_INTEGER, float2ull, unsigned long long, float)
LATHE_ROUNDINGS(LATHE_REAL_TO_INTEGER, double2int, int, double)
LATHE_ROUNDINGS(LATHE_REAL_TO_INTEGER, double2uint, unsigned, double)
LATHE_ROUNDINGS(LATHE_REAL_TO_INTEGER, double2ll, long long, double)
LATHE_ROUNDINGS(LATHE_REAL_TO_INTEGER, double2ull, unsigned long long, double)
#define LATHE_EXACT_TO_REAL(suffix, mode, name, to, from, wide)                                              \
  LATHE_DEVICE to __##name##_##suffix(from x) {                                                              \
    return lathe_host::round_to<to>(static_cast<wide>(x), mode);                                             \
  }
LATHE_ROUNDINGS(LATHE_EXACT_TO_REAL, int2float, float, int, double)
LATHE_ROUNDINGS(LATHE_EXACT_TO_REAL, uint2float, float, unsigned, double)
LATHE_ROUNDINGS(LATHE_EXACT_TO_REAL, ll2float, float, long long, long double)
LATHE_ROUNDINGS(LATHE_EXACT_TO_REAL, ull2float, float, unsigned long long, long double)
LATHE_ROUNDINGS(LATHE_EXACT_TO_REAL, ll2double, double, long long, long double)
LATHE_ROUNDINGS(LATHE_EXACT_TO_REAL, ull2double, double, unsigned long long, long double)
LATHE_ROUNDINGS(LATHE_EXACT_TO_REAL, double2float, float, double, double)
LATHE_DEVICE double __int2double_rn(int x) {
  return x;
}
LATHE_DEVICE double __uint2double_rn(unsigned x) {
  return x;
}

// Arithmetic with a rounding mode: the exact sum or product of two floats fits a long double or is rounded
// twice only far below half a unit; divisions and roots round through it as well.
#define LATHE_ROUNDED(suffix, mode, unused)                                                                  \
  LATHE_DEVICE float __fadd_##suffix(float x, float y) {                                                     \
    return lathe_host::round_to<float>(static_cast<long double>(x) + y, mode);                               \
  }                                                                                                          \
  LATHE_DEVICE float __fsub_##suffix(float x, float y) {                                                     \
    return lathe_host::round_to<float>(static_cast<long double>(x) - y, mode);                               \
  }                                                                                                          \
  LATHE_DEVICE float __fmul_##suffix(float x, float y) {                                                     \
    return lathe_host::round_to<float>(static_cast<double>(x) * y, mode);                                    \
  }                                                                                                          \
  LATHE_DEVICE float __fdiv_##suffix(float x, float y) {                                                     \
    return lathe_host::round_to<float>(static_cast<long double>(x) / y, mode);                               \
  }                                                                                                          \
  LATHE_DEVICE float __frcp_##suffix(float x) {                                                              \
    return lathe_host::round_to<float>(1.0L / x, mode);                                                      \
  }                                                                                                          \
  LATHE_DEVICE float __fsqrt_##suffix(float x) {                                                             \
    return lathe_host::round_to<float>(std::sqrt(static_cast<long double>(x)), mode);                        \
  }                                                                                                          \
  LATHE_DEVICE double __dadd_##suffix(double x, double y) {                                                  \
    return lathe_host::round_to<double>(static_cast<long double>(x) + y, mode);                              \
  }                                                                                                          \
  LATHE_DEVICE double __dsub_##suffix(double x, double y) {                                                  \
    return lathe_host::round_to<double>(static_cast<long double>(x) - y, mode);                              \
  }                                                                                                          \
  LATHE_DEVICE double __dmul_##suffix(double x, double y) {                                                  \
    return lathe_host::round_to<double>(static_cast<long double>(x) * y, mode);                              \
  }                                                                                                          \
  LATHE_DEVICE double __ddiv_##suffix(double x, double y) {                                                  \
    return lathe_host::round_to<double>(static_cast<long double>(x) / y, mode);                              \
  }                                                                                                          \
  LATHE_DEVICE double __drcp_##suffix(double x) {                                                            \
    return lathe_host::round_to<double>(1.0L / x, mode);                                                     \
  }                                                                                                          \
  LATHE_DEVICE double __dsqrt_##suffix(double x) {                                                           \
    return lathe_host::round_to<double>(std::sqrt(static_cast<long double>(x)), mode);                       \
  }
#define LATHE_ROUNDED_NOT_NEAREST(M)                                                                         \
  M(rz, lathe_host::Rounding::zero, ) M(rd, lathe_host::Rounding::down, ) M(ru, lathe_host::Rounding::up, )
LATHE_ROUNDED_NOT_NEAREST(LATHE_ROUNDED)
#define LATHE_FMA(suffix, mode, unused)                                                                      \
  LATHE_DEVICE float __fmaf_##suffix(float x, float y, float z) {                                            \
    return lathe_host::round_to<float>(static_cast<long double>(static_cast<double>(x) * y) + z, mode);      \
  }                                                                                                          \
  LATHE_DEVICE float __fmaf_ieee_##suffix(float x, float y, float z) {                                       \
    return __fmaf_##suffix(x, y, z);                                                                         \
  }
LATHE_ROUNDED_NOT_NEAREST(LATHE_FMA)
LATHE_DEVICE float __fadd_rn(float x, float y) {
  return x + y;
}
LATHE_DEVICE float __fsub_rn(float x, float y) {
  return x - y;
}
LATHE_DEVICE float __fmul_rn(float x, float y) {
  return x * y;
}
LATHE_DEVICE float __fdiv_rn(float x, float y) {
  return x / y;
}
LATHE_DEVICE float __frcp_rn(float x) {
  return 1.0f / x;
}
LATHE_DEVICE float __fsqrt_rn(float x) {
  return std::sqrt(x);
}
LATHE_DEVICE float __frsqrt_rn(float x) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
}
LATHE_DEVICE float __fmaf_rn(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
LATHE_DEVICE float __fmaf_ieee_rn(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
LATHE_DEVICE double __dadd_rn(double x, double y) {
  return x + y;
}
LATHE_DEVICE double __dsub_rn(double x, double y) {
  return x - y;
}
LATHE_DEVICE double __dmul_rn(double x, double y) {
  return x * y;
}
LATHE_DEVICE double __ddiv_rn(double x, double y) {
  return x / y;
}
LATHE_DEVICE double __drcp_rn(double x) {
  return 1.0 / x;
}
LATHE_DEVICE double __dsqrt_rn(double x) {
  return std::sqrt(x);
}
LATHE_DEVICE double __fma_rn(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}

// Fast variants and functions of CUDA's math library that the C++ library lacks. The C library declares some
// of these names for itself.
#define __expf lathe__expf
#define __exp10f lathe__exp10f
#define __logf lathe__logf
#define __log2f lathe__log2f
#define __log10f lathe__log10f
#define __sinf lathe__sinf
#define __cosf lathe__cosf
#define __tanf lathe__tanf
#define __tanhf lathe__tanhf
#define __sincosf lathe__sincosf
#define __powf lathe__powf
LATHE_DEVICE float __expf(float x) {
  return std::exp(x);
}
LATHE_DEVICE float __exp10f(float x) {
  return static_cast<float>(std::pow(10.0, static_cast<double>(x)));
}
LATHE_DEVICE float __logf(float x) {
  return std::log(x);
}
LATHE_DEVICE float __log2f(float x) {
  return std::log2(x);
}
LATHE_DEVICE float __log10f(float x) {
  return std::log10(x);
}
LATHE_DEVICE float __sinf(float x) {
  return std::sin(x);
}
LATHE_DEVICE float __cosf(float x) {
  return std::cos(x);
}
LATHE_DEVICE float __tanf(float x) {
  return std::tan(x);
}
LATHE_DEVICE float __tanhf(float x) {
  return std::tanh(x);
}
LATHE_DEVICE void __sincosf(float x, float* s, float* c) {
  *s = std::sin(x), *c = std::cos(x);
}
LATHE_DEVICE float __powf(float x, float y) {
  return std::pow(x, y);
}
LATHE_DEVICE float __fdividef(float x, float y) {
  return x / y;
}
LATHE_DEVICE float fdividef(float x, float y) {
  return x / y;
}
LATHE_DEVICE double fdivide(double x, double y) {
  return x / y;
}
LATHE_DEVICE float __saturatef(float x) {
  return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
} // NaN: 0
LATHE_DEVICE float rsqrtf(float x) {
  return 1.0f / std::sqrt(x);
}
LATHE_DEVICE double rsqrt(double x) {
  return 1.0 / std::sqrt(x);
}
LATHE_DEVICE float rsqrt(float x) {
  return rsqrtf(x);
}
LATHE_DEVICE float rcbrtf(float x) {
  return 1.0f / std::cbrt(x);
}
LATHE_DEVICE double rcbrt(double x) {
  return 1.0 / std::cbrt(x);
}
LATHE_DEVICE float rhypotf(float x, float y) {
  return 1.0f / std::hypot(x, y);
}
LATHE_DEVICE double rhypot(double x, double y) {
  return 1.0 / std::hypot(x, y);
}
LATHE_DEVICE float sinpif(float x) {
  return static_cast<float>(std::sin(M_PI * std::fmod(static_cast<double>(x), 2.0)));
}
LATHE_DEVICE float cospif(float x) {
  return static_cast<float>(std::cos(M_PI * std::fmod(static_cast<double>(x), 2.0)));
}
LATHE_DEVICE double sinpi(double x) {
  return std::sin(M_PI * std::fmod(x, 2.0));
}
LATHE_DEVICE double cospi(double x) {
  return std::cos(M_PI * std::fmod(x, 2.0));
}
LATHE_DEVICE void sincospif(float x, float* s, float* c) {
  *s = sinpif(x), *c = cospif(x);
}
LATHE_DEVICE float normcdff(float x) {
  return static_cast<float>(0.5 * std::erfc(-double(x) * M_SQRT1_2));
}
LATHE_DEVICE double normcdf(double x) {
  return 0.5 * std::erfc(-x * M_SQRT1_2);
}

// Integers.
LATHE_DEVICE int __clz(int x) {
  return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
LATHE_DEVICE int __clzll(long long x) {
  return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
LATHE_DEVICE int __popc(unsigned x) {
  return __builtin_popcount(x);
}
LATHE_DEVICE int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
LATHE_DEVICE int __ffs(int x) {
  return __builtin_ffs(x);
}
LATHE_DEVICE int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
LATHE_DEVICE unsigned long long __brevll(unsigned long long x) {
  unsigned long long result = 0;
  for (int i = 0; i < 64; ++i)
    result |= (x >> i & 1) << (63 - i);
  return result;
}
LATHE_DEVICE unsigned __brev(unsigned x) {
  return static_cast<unsigned>(__brevll(x) >> 32);
}
LATHE_DEVICE int __mulhi(int x, int y) {
  return static_cast<int>(static_cast<long long>(x) * y >> 32);
}
LATHE_DEVICE unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
LATHE_DEVICE long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
LATHE_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
LATHE_DEVICE int __mul24(int x, int y) {
  return ((x << 8) >> 8) * ((y << 8) >> 8);
}
LATHE_DEVICE unsigned __umul24(unsigned x, unsigned y) {
  return (x & 0xffffff) * (y & 0xffffff);
}
LATHE_DEVICE unsigned __sad(int x, int y, unsigned z) {
  return z + static_cast<unsigned>(x > y ? x - y : y - x);
}
LATHE_DEVICE unsigned __usad(unsigned x, unsigned y, unsigned z) {
  return z + (x > y ? x - y : y - x);
}
LATHE_DEVICE int __hadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y) >> 1);
}
LATHE_DEVICE int __rhadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1);
}
LATHE_DEVICE unsigned __uhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y) >> 1);
}
LATHE_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned select = selector >> (4 * i) & 15;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (select & 7))) & 0xff;
    if (select & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}
LATHE_DEVICE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) << (n & 31) >> 32);
}
LATHE_DEVICE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) >> (n & 31));
}
LATHE_DEVICE unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n) {
  return n >= 32 ? lo : __funnelshift_l(lo, hi, n);
}
LATHE_DEVICE unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n) {
  return n >= 32 ? hi : __funnelshift_r(lo, hi, n);
}
LATHE_DEVICE int __dp4a(int x, int y, int sum) {
  for (int i = 0; i < 32; i += 8)
    sum += static_cast<signed char>(x >> i) * static_cast<signed char>(y >> i);
  return sum;
}
LATHE_DEVICE unsigned __dp4a(unsigned x, unsigned y, unsigned sum) {
  for (int i = 0; i < 32; i += 8)
    sum += (x >> i & 0xff) * (y >> i & 0xff);
  return sum;
}
LATHE_DEVICE int __dp4a(char4 x, char4 y, int sum) {
  return sum + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
LATHE_DEVICE unsigned __dp4a(uchar4 x, uchar4 y, unsigned sum) {
  return sum + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
// Two numbers of 16 bits by two bytes, the lower or the upper ones.
LATHE_DEVICE int __dp2a_lo(int x, int y, int sum) {
  return sum + static_cast<short>(x) * static_cast<signed char>(y) +
         static_cast<short>(x >> 16) * static_cast<signed char>(y >> 8);
}
LATHE_DEVICE int __dp2a_hi(int x, int y, int sum) {
  return __dp2a_lo(x, y >> 16, sum);
}
LATHE_DEVICE unsigned __dp2a_lo(unsigned x, unsigned y, unsigned sum) {
  return sum + (x & 0xffff) * (y & 0xff) + (x >> 16) * (y >> 8 & 0xff);
}
LATHE_DEVICE unsigned __dp2a_hi(unsigned x, unsigned y, unsigned sum) {
  return __dp2a_lo(x, y >> 16, sum);
}
LATHE_DEVICE int __dp2a_lo(short2 x, char4 y, int sum) {
  return sum + x.x * y.x + x.y * y.y;
}
LATHE_DEVICE int __dp2a_hi(short2 x, char4 y, int sum) {
  return sum + x.x * y.z + x.y * y.w;
}
LATHE_DEVICE unsigned __dp2a_lo(ushort2 x, uchar4 y, unsigned sum) {
  return sum + static_cast<unsigned>(x.x) * y.x + static_cast<unsigned>(x.y) * y.y;
}
LATHE_DEVICE unsigned __dp2a_hi(ushort2 x, uchar4 y, unsigned sum) {
  return sum + static_cast<unsigned>(x.x) * y.z + static_cast<unsigned>(x.y) * y.w;
}

// CUDA's min and max: mixed signedness compares as unsigned, mixed reals as the wider.
#define LATHE_MIN_MAX(type)                                                                                  \
  LATHE_DEVICE constexpr type min(type x, type y) {                                                          \
    return y < x ? y : x;                                                                                    \
  }                                                                                                          \
  LATHE_DEVICE constexpr type max(type x, type y) {                                                          \
    return x < y ? y : x;                                                                                    \
  }
LATHE_MIN_MAX(int)
LATHE_MIN_MAX(unsigned)
LATHE_MIN_MAX(long)
LATHE_MIN_MAX(unsigned long)
LATHE_MIN_MAX(long long)
LATHE_MIN_MAX(unsigned long long)
#define LATHE_MIXED_MIN_MAX(a, b, type)                                                                      \
  LATHE_DEVICE constexpr type min(a x, b y) {                                                                \
    return min(static_cast<type>(x), static_cast<type>(y));                                                  \
  }                                                                                                          \
  LATHE_DEVICE constexpr type min(b x, a y) {                                                                \
    return min(static_cast<type>(x), static_cast<type>(y));                                                  \
  }                                                                                                          \
  LATHE_DEVICE constexpr type max(a x, b y) {                                                                \
    return max(static_cast<type>(x), static_cast<type>(y));                                                  \
  }                                                                                                          \
  LATHE_DEVICE constexpr type max(b x, a y) {                                                                \
    return max(static_cast<type>(x), static_cast<type>(y));                                                  \
  }
LATHE_MIXED_MIN_MAX(int, unsigned, unsigned)
LATHE_MIXED_MIN_MAX(long, unsigned long, unsigned long)
LATHE_MIXED_MIN_MAX(long long, unsigned long long, unsigned long long)
LATHE_DEVICE float min(float x, float y) {
  return std::fmin(x, y);
}
LATHE_DEVICE float max(float x, float y) {
  return std::fmax(x, y);
}
LATHE_DEVICE double min(double x, double y) {
  return std::fmin(x, y);
}
LATHE_DEVICE double max(double x, double y) {
  return std::fmax(x, y);
}
LATHE_DEVICE double min(float x, double y) {
  return std::fmin(x, y);
}
LATHE_DEVICE double min(double x, float y) {
  return std::fmin(x, y);
}
LATHE_DEVICE double max(float x, double y) {
  return std::fmax(x, y);
}
LATHE_DEVICE double max(double x, float y) {
  return std::fmax(x, y);
}
LATHE_DEVICE unsigned umin(unsigned x, unsigned y) {
  return min(x, y);
}
LATHE_DEVICE unsigned umax(unsigned x, unsigned y) {
  return max(x, y);
}
LATHE_DEVICE long long llmin(long long x, long long y) {
  return min(x, y);
}
LATHE_DEVICE long long llmax(long long x, long long y) {
  return max(x, y);
}
