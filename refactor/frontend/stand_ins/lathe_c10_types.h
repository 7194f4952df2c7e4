// Stand-in for PyTorch's 16-bit and 8-bit floating-point types: c10 arithmetic converts to float, computes
// and rounds after every operator. Kernels that name these types are compiled with this text, which therefore
// belongs to what a certificate trusts.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <limits>

namespace c10 {

struct alignas(2) Half {
  unsigned short x;
  struct from_bits_t {};
  __host__ __device__ static constexpr from_bits_t from_bits() { return from_bits_t(); }
  Half() = default;
  __host__ __device__ constexpr Half(unsigned short bits, from_bits_t) : x(bits) {}
  __host__ __device__ Half(float value) : x(__half_as_ushort(__float2half(value))) {}
  __host__ __device__ Half(const __half& value) : x(__half_as_ushort(value)) {}
  __host__ __device__ operator float() const { return __half2float(__ushort_as_half(x)); }
  __host__ __device__ operator __half() const { return __ushort_as_half(x); }
};

struct alignas(2) BFloat16 {
  unsigned short x;
  struct from_bits_t {};
  __host__ __device__ static constexpr from_bits_t from_bits() { return from_bits_t(); }
  BFloat16() = default;
  __host__ __device__ constexpr BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
  __host__ __device__ BFloat16(float value) : x(__bfloat16_as_ushort(__float2bfloat16(value))) {}
  __host__ __device__ BFloat16(const __nv_bfloat16& value) : x(__bfloat16_as_ushort(value)) {}
  __host__ __device__ operator float() const { return __bfloat162float(__ushort_as_bfloat16(x)); }
  __host__ __device__ operator __nv_bfloat16() const { return __ushort_as_bfloat16(x); }
};

// The value of an 8-bit number, by arithmetic that compilers fold: kernels compare with numeric_limits of
// these types for every element, which a conversion instruction would compute anew each time. HAS_INFINITY:
// the largest exponent is that of infinity and not-a-number; else only its last value is not-a-number.
template <int EXPONENT_BITS, int MANTISSA_BITS, bool HAS_INFINITY>
inline __host__ __device__ float small_float(unsigned char bits) {
  constexpr int BIAS = (1 << (EXPONENT_BITS - 1)) - 1, LARGEST = (1 << EXPONENT_BITS) - 1;
  constexpr int MANTISSAS = 1 << MANTISSA_BITS;
  constexpr int FLOAT_BIAS = 127, FLOAT_MANTISSA_BITS = 23;
  const int exponent = bits >> MANTISSA_BITS & LARGEST, mantissa = bits & (MANTISSAS - 1);
  union { // as CUDA's own headers look at a number's bits
    unsigned bits;
    float value;
  } power, number;
  power.bits = (1 - BIAS - MANTISSA_BITS + FLOAT_BIAS) << FLOAT_MANTISSA_BITS; // of the smallest number
  const bool is_special = exponent == LARGEST && (HAS_INFINITY || mantissa == MANTISSAS - 1);
  number.bits = (is_special ? 255 : exponent - BIAS + FLOAT_BIAS) << FLOAT_MANTISSA_BITS |
                mantissa << (FLOAT_MANTISSA_BITS - MANTISSA_BITS);
  const float value = exponent == 0 ? static_cast<float>(mantissa) * power.value : number.value;
  return bits >> 7 ? -value : value;
}

struct alignas(1) Float8_e4m3fn {
  unsigned char x;
  struct from_bits_t {};
  __host__ __device__ static constexpr from_bits_t from_bits() { return from_bits_t(); }
  Float8_e4m3fn() = default;
  __host__ __device__ constexpr Float8_e4m3fn(unsigned char bits, from_bits_t) : x(bits) {}
  __host__ __device__ Float8_e4m3fn(float value) : x(__nv_cvt_float_to_fp8(value, __NV_NOSAT, __NV_E4M3)) {}
  __host__ __device__ operator float() const { return small_float<4, 3, false>(x); }
};

struct alignas(1) Float8_e5m2 {
  unsigned char x;
  struct from_bits_t {};
  __host__ __device__ static constexpr from_bits_t from_bits() { return from_bits_t(); }
  Float8_e5m2() = default;
  __host__ __device__ constexpr Float8_e5m2(unsigned char bits, from_bits_t) : x(bits) {}
  __host__ __device__ Float8_e5m2(float value) : x(__nv_cvt_float_to_fp8(value, __NV_NOSAT, __NV_E5M2)) {}
  __host__ __device__ operator float() const { return small_float<5, 2, true>(x); }
};

// AMD's formats: named in sources for both makers, never computed with here.
struct alignas(1) Float8_e4m3fnuz {
  unsigned char x;
  struct from_bits_t {};
  __host__ __device__ static constexpr from_bits_t from_bits() { return from_bits_t(); }
  Float8_e4m3fnuz() = default;
  __host__ __device__ constexpr Float8_e4m3fnuz(unsigned char bits, from_bits_t) : x(bits) {}
};
struct alignas(1) Float8_e5m2fnuz {
  unsigned char x;
  struct from_bits_t {};
  __host__ __device__ static constexpr from_bits_t from_bits() { return from_bits_t(); }
  Float8_e5m2fnuz() = default;
  __host__ __device__ constexpr Float8_e5m2fnuz(unsigned char bits, from_bits_t) : x(bits) {}
};

#define LATHE_C10_OPERATORS(type)                                                                            \
  inline __host__ __device__ type operator+(const type& a, const type& b) {                                  \
    return static_cast<float>(a) + static_cast<float>(b);                                                    \
  }                                                                                                          \
  inline __host__ __device__ type operator-(const type& a, const type& b) {                                  \
    return static_cast<float>(a) - static_cast<float>(b);                                                    \
  }                                                                                                          \
  inline __host__ __device__ type operator*(const type& a, const type& b) {                                  \
    return static_cast<float>(a) * static_cast<float>(b);                                                    \
  }                                                                                                          \
  inline __host__ __device__ type operator/(const type& a, const type& b) {                                  \
    return static_cast<float>(a) / static_cast<float>(b);                                                    \
  }                                                                                                          \
  inline __host__ __device__ type operator-(const type& a) {                                                 \
    return -static_cast<float>(a);                                                                           \
  }                                                                                                          \
  inline __host__ __device__ type& operator+=(type& a, const type& b) {                                      \
    return a = a + b;                                                                                        \
  }                                                                                                          \
  inline __host__ __device__ type& operator-=(type& a, const type& b) {                                      \
    return a = a - b;                                                                                        \
  }                                                                                                          \
  inline __host__ __device__ type& operator*=(type& a, const type& b) {                                      \
    return a = a * b;                                                                                        \
  }                                                                                                          \
  inline __host__ __device__ type& operator/=(type& a, const type& b) {                                      \
    return a = a / b;                                                                                        \
  }                                                                                                          \
  inline __host__ __device__ float operator+(const type& a, float b) {                                       \
    return static_cast<float>(a) + b;                                                                        \
  }                                                                                                          \
  inline __host__ __device__ float operator-(const type& a, float b) {                                       \
    return static_cast<float>(a) - b;                                                                        \
  }                                                                                                          \
  inline __host__ __device__ float operator*(const type& a, float b) {                                       \
    return static_cast<float>(a) * b;                                                                        \
  }                                                                                                          \
  inline __host__ __device__ float operator/(const type& a, float b) {                                       \
    return static_cast<float>(a) / b;                                                                        \
  }                                                                                                          \
  inline __host__ __device__ float operator+(float a, const type& b) {                                       \
    return a + static_cast<float>(b);                                                                        \
  }                                                                                                          \
  inline __host__ __device__ float operator-(float a, const type& b) {                                       \
    return a - static_cast<float>(b);                                                                        \
  }                                                                                                          \
  inline __host__ __device__ float operator*(float a, const type& b) {                                       \
    return a * static_cast<float>(b);                                                                        \
  }                                                                                                          \
  inline __host__ __device__ float operator/(float a, const type& b) {                                       \
    return a / static_cast<float>(b);                                                                        \
  }                                                                                                          \
  inline __host__ __device__ double operator+(const type& a, double b) {                                     \
    return static_cast<double>(a) + b;                                                                       \
  }                                                                                                          \
  inline __host__ __device__ double operator-(const type& a, double b) {                                     \
    return static_cast<double>(a) - b;                                                                       \
  }                                                                                                          \
  inline __host__ __device__ double operator*(const type& a, double b) {                                     \
    return static_cast<double>(a) * b;                                                                       \
  }                                                                                                          \
  inline __host__ __device__ double operator/(const type& a, double b) {                                     \
    return static_cast<double>(a) / b;                                                                       \
  }                                                                                                          \
  inline __host__ __device__ double operator+(double a, const type& b) {                                     \
    return a + static_cast<double>(b);                                                                       \
  }                                                                                                          \
  inline __host__ __device__ double operator-(double a, const type& b) {                                     \
    return a - static_cast<double>(b);                                                                       \
  }                                                                                                          \
  inline __host__ __device__ double operator*(double a, const type& b) {                                     \
    return a * static_cast<double>(b);                                                                       \
  }                                                                                                          \
  inline __host__ __device__ double operator/(double a, const type& b) {                                     \
    return a / static_cast<double>(b);                                                                       \
  }                                                                                                          \
  inline __host__ __device__ float& operator+=(float& a, const type& b) {                                    \
    return a += static_cast<float>(b);                                                                       \
  }                                                                                                          \
  inline __host__ __device__ float& operator*=(float& a, const type& b) {                                    \
    return a *= static_cast<float>(b);                                                                       \
  }
LATHE_C10_OPERATORS(Half)
LATHE_C10_OPERATORS(BFloat16)
LATHE_C10_OPERATORS(Float8_e4m3fn)
LATHE_C10_OPERATORS(Float8_e5m2)
#undef LATHE_C10_OPERATORS

// As floats: of two of a kind CUDA's own comparisons of 16-bit types, which PyTorch's flags take away, would
// do as well. Templates, so that a comparison with another type is as it would be without these.
template <class Type> struct Compared {};
#define LATHE_C10_COMPARISONS(type)                                                                          \
  template <> struct Compared<type> {                                                                        \
    using result = bool;                                                                                     \
  };
LATHE_C10_COMPARISONS(Half)
LATHE_C10_COMPARISONS(BFloat16)
LATHE_C10_COMPARISONS(Float8_e4m3fn)
LATHE_C10_COMPARISONS(Float8_e5m2)
#undef LATHE_C10_COMPARISONS
#define LATHE_C10_COMPARISON(op)                                                                             \
  template <class Type>                                                                                      \
  inline __host__ __device__ typename Compared<Type>::result operator op(const Type& a, const Type& b) {     \
    return static_cast<float>(a) op static_cast<float>(b);                                                   \
  }
LATHE_C10_COMPARISON(==)
LATHE_C10_COMPARISON(!=)
LATHE_C10_COMPARISON(<)
LATHE_C10_COMPARISON(<=)
LATHE_C10_COMPARISON(>)
LATHE_C10_COMPARISON(>=)
#undef LATHE_C10_COMPARISON

// With whole numbers the number is converted, as c10 does.
#define LATHE_C10_INTEGER_OPERATORS(type, integer)                                                           \
  inline __host__ __device__ type operator+(const type& a, integer b) {                                      \
    return a + type(static_cast<float>(b));                                                                  \
  }                                                                                                          \
  inline __host__ __device__ type operator-(const type& a, integer b) {                                      \
    return a - type(static_cast<float>(b));                                                                  \
  }                                                                                                          \
  inline __host__ __device__ type operator*(const type& a, integer b) {                                      \
    return a * type(static_cast<float>(b));                                                                  \
  }                                                                                                          \
  inline __host__ __device__ type operator/(const type& a, integer b) {                                      \
    return a / type(static_cast<float>(b));                                                                  \
  }                                                                                                          \
  inline __host__ __device__ type operator+(integer a, const type& b) {                                      \
    return type(static_cast<float>(a)) + b;                                                                  \
  }                                                                                                          \
  inline __host__ __device__ type operator-(integer a, const type& b) {                                      \
    return type(static_cast<float>(a)) - b;                                                                  \
  }                                                                                                          \
  inline __host__ __device__ type operator*(integer a, const type& b) {                                      \
    return type(static_cast<float>(a)) * b;                                                                  \
  }                                                                                                          \
  inline __host__ __device__ type operator/(integer a, const type& b) {                                      \
    return type(static_cast<float>(a)) / b;                                                                  \
  }
LATHE_C10_INTEGER_OPERATORS(Half, int)
LATHE_C10_INTEGER_OPERATORS(Half, long)
LATHE_C10_INTEGER_OPERATORS(BFloat16, int)
LATHE_C10_INTEGER_OPERATORS(BFloat16, long)
#undef LATHE_C10_INTEGER_OPERATORS

inline __device__ Half __ldg(const Half* from) {
  return Half(::__ldg(reinterpret_cast<const unsigned short*>(from)), Half::from_bits());
}
inline __device__ BFloat16 __ldg(const BFloat16* from) {
  return BFloat16(::__ldg(reinterpret_cast<const unsigned short*>(from)), BFloat16::from_bits());
}

} // namespace c10

namespace std {
template <> class numeric_limits<c10::Half> {
public:
  static constexpr bool is_specialized = true;
  __host__ __device__ static constexpr c10::Half max() { return c10::Half(0x7BFF, c10::Half::from_bits()); }
  __host__ __device__ static constexpr c10::Half lowest() {
    return c10::Half(0xFBFF, c10::Half::from_bits());
  }
  __host__ __device__ static constexpr c10::Half min() { return c10::Half(0x0400, c10::Half::from_bits()); }
  __host__ __device__ static constexpr c10::Half infinity() {
    return c10::Half(0x7C00, c10::Half::from_bits());
  }
};
template <> class numeric_limits<c10::BFloat16> {
public:
  static constexpr bool is_specialized = true;
  __host__ __device__ static constexpr c10::BFloat16 max() {
    return c10::BFloat16(0x7F7F, c10::BFloat16::from_bits());
  }
  __host__ __device__ static constexpr c10::BFloat16 lowest() {
    return c10::BFloat16(0xFF7F, c10::BFloat16::from_bits());
  }
  __host__ __device__ static constexpr c10::BFloat16 min() {
    return c10::BFloat16(0x0080, c10::BFloat16::from_bits());
  }
  __host__ __device__ static constexpr c10::BFloat16 infinity() {
    return c10::BFloat16(0x7F80, c10::BFloat16::from_bits());
  }
};
template <> class numeric_limits<c10::Float8_e4m3fn> {
public:
  static constexpr bool is_specialized = true;
  __host__ __device__ static constexpr c10::Float8_e4m3fn max() {
    return c10::Float8_e4m3fn(0x7E, c10::Float8_e4m3fn::from_bits());
  }
  __host__ __device__ static constexpr c10::Float8_e4m3fn lowest() {
    return c10::Float8_e4m3fn(0xFE, c10::Float8_e4m3fn::from_bits());
  }
};
template <> class numeric_limits<c10::Float8_e5m2> {
public:
  static constexpr bool is_specialized = true;
  __host__ __device__ static constexpr c10::Float8_e5m2 max() {
    return c10::Float8_e5m2(0x7B, c10::Float8_e5m2::from_bits());
  }
  __host__ __device__ static constexpr c10::Float8_e5m2 lowest() {
    return c10::Float8_e5m2(0xFB, c10::Float8_e5m2::from_bits());
  }
};
} // namespace std

namespace at {
using c10::BFloat16;
using c10::Float8_e4m3fn;
using c10::Float8_e4m3fnuz;
using c10::Float8_e5m2;
using c10::Float8_e5m2fnuz;
using c10::Half;
template <class T> struct OpMathType {
  using type = T;
};
template <> struct OpMathType<c10::Half> {
  using type = float;
};
template <> struct OpMathType<c10::BFloat16> {
  using type = float;
};
template <> struct OpMathType<c10::Float8_e4m3fn> {
  using type = float;
};
template <> struct OpMathType<c10::Float8_e5m2> {
  using type = float;
};
template <> struct OpMathType<__half> {
  using type = float;
};
template <> struct OpMathType<__nv_bfloat16> {
  using type = float;
};
template <class T> using opmath_type = typename OpMathType<T>::type;
template <class T, bool is_cuda> struct AccumulateType {
  using type = T;
};
template <> struct AccumulateType<c10::Half, true> {
  using type = float;
};
template <> struct AccumulateType<c10::BFloat16, true> {
  using type = float;
};
template <> struct AccumulateType<__half, true> {
  using type = float;
};
template <> struct AccumulateType<__nv_bfloat16, true> {
  using type = float;
};
template <class T, bool is_cuda> using acc_type = typename AccumulateType<T, is_cuda>::type;
} // namespace at
