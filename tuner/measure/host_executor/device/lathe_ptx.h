// PTX instructions as C++: what the translation of inline assembly (ptx.cpp) is written in. Registers are
// bits; a type says how an instruction reads them. `.ftz` and `.approx` are the exact IEEE operation.
#pragma once

namespace lathe_ptx {

using lathe_host::bits_as;
using u8 = unsigned char;
using s8 = signed char;
using u16 = unsigned short;
using s16 = short;
using u32 = unsigned;
using s32 = int;
using u64 = unsigned long long;
using s64 = long long;
using f32 = float;
using f64 = double;
using pred = bool;
using f16 = _Float16;
struct bf16 {
  u16 bits;
  bf16() = default;
  explicit bf16(float value) {
    const u32 x = bits_as<u32>(value);
    bits = value != value ? u16(0x7fff) : u16((x + 0x7fff + (x >> 16 & 1)) >> 16);
  }
  explicit operator float() const { return bits_as<float>(u32(bits) << 16); }
};
// Two small reals in 32 bits.
template <class T> struct pair_of {
  T lo, hi;
};
using f16x2 = pair_of<f16>;
using bf16x2 = pair_of<bf16>;

template <class T, class R> LATHE_INLINE T get(const R& reg) {
  if constexpr (std::is_same_v<T, bool>) {
    return reg != 0;
  } else {
    static_assert(sizeof(T) <= sizeof(R), "a register is narrower than the instruction's type");
    T value;
    __builtin_memcpy(&value, &reg, sizeof(T));
    return value;
  }
}
// Immediate operands.
template <class T> LATHE_INLINE T immediate(u64 integer) {
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, f16>)
    return static_cast<T>(static_cast<double>(static_cast<s64>(integer)));
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(integer);
  else
    return get<T>(integer);
}
template <class T> LATHE_INLINE T immediate_real(double value) {
  return static_cast<T>(value);
}
template <class R, class T> LATHE_INLINE void set(R& reg, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    reg = static_cast<R>(value);
  } else if constexpr (std::is_integral_v<T>) {
    reg = static_cast<R>(value); // sign- or zero-extends, as ld and cvt do
  } else {
    static_assert(sizeof(T) <= sizeof(R), "a register is narrower than the instruction's type");
    reg = 0;
    __builtin_memcpy(&reg, &value, sizeof(T));
  }
}
// The library's trait takes a pointer with __restrict for none.
template <class T> inline constexpr bool is_pointer = __is_pointer(T);
template <class R, class T> LATHE_INLINE R read_operand(const T& value) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
    return static_cast<R>(value);
  else if constexpr (is_pointer<T>)
    return static_cast<R>(reinterpret_cast<uintptr_t>(value));
  else {
    static_assert(sizeof(T) <= sizeof(R), "operand wider than its constraint");
    R reg = 0;
    __builtin_memcpy(&reg, &value, sizeof(T));
    return reg;
  }
}
template <class T, class R> LATHE_INLINE void write_operand(T& target, R reg) {
  if constexpr (std::is_integral_v<T>)
    target = static_cast<T>(reg);
  else if constexpr (is_pointer<T>)
    target = reinterpret_cast<T>(static_cast<uintptr_t>(reg));
  else {
    static_assert(sizeof(T) <= sizeof(R), "operand wider than its constraint");
    __builtin_memcpy(&target, &reg, sizeof(T));
  }
}

// One-element and packed arithmetic by the same functions.
template <class T> struct is_pair : std::false_type {};
template <class T> struct is_pair<pair_of<T>> : std::true_type {};
template <class T> inline constexpr bool is_small_real = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T> inline constexpr bool is_real = std::is_floating_point_v<T> || is_small_real<T>;

template <class T, class F, class... V> LATHE_INLINE T map(F operation, const V&... values) {
  if constexpr (is_pair<T>::value)
    return T{map<decltype(T::lo)>(operation, values.lo...), map<decltype(T::lo)>(operation, values.hi...)};
  else if constexpr (is_small_real<T>)
    return static_cast<T>(static_cast<float>(operation(static_cast<double>(static_cast<float>(values))...)));
  else
    return static_cast<T>(operation(values...));
}
// Integers wrap: computed as unsigned.
template <class T> LATHE_INLINE auto modular(T x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<u64>(x);
  else
    return x;
}
template <class T> LATHE_INLINE T add(T x, T y) {
  return map<T>([](auto a, auto b) { return modular(a) + modular(b); }, x, y);
}
template <class T> LATHE_INLINE T sub(T x, T y) {
  return map<T>([](auto a, auto b) { return modular(a) - modular(b); }, x, y);
}
template <class T> LATHE_INLINE T mul(T x, T y) {
  return map<T>([](auto a, auto b) { return modular(a) * modular(b); }, x, y);
}
template <class T> LATHE_INLINE T div(T x, T y) {
  return map<T>([](auto a, auto b) { return a / b; }, x, y);
}
template <class T> LATHE_INLINE T rem(T x, T y) {
  return x % y;
}
template <class T> LATHE_INLINE T neg(T x) {
  if constexpr (is_pair<T>::value || is_small_real<T>) { // flips the sign of NaN too
    using Bits = std::conditional_t<sizeof(T) == 4, u32, u16>;
    return bits_as<T>(static_cast<Bits>(bits_as<Bits>(x) ^ (sizeof(T) == 4 ? 0x80008000u : 0x8000u)));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(0 - static_cast<u64>(x));
  } else {
    return -x;
  }
}
template <class T> LATHE_INLINE T abs(T x) {
  if constexpr (is_pair<T>::value || is_small_real<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, u32, u16>;
    return bits_as<T>(static_cast<Bits>(bits_as<Bits>(x) & (sizeof(T) == 4 ? 0x7fff7fffu : 0x7fffu)));
  } else if constexpr (std::is_integral_v<T>) {
    return x < 0 ? neg(x) : x;
  } else {
    return std::fabs(x);
  }
}
struct minimum {
  template <class V> V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<V>)
      return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
    else
      return b < a ? b : a;
  }
};
struct maximum {
  template <class V> V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<V>)
      return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
    else
      return a < b ? b : a;
  }
};
struct minimum_nan {
  template <class V> V operator()(V a, V b) const { return a != a ? a : b != b ? b : minimum{}(a, b); }
};
struct maximum_nan {
  template <class V> V operator()(V a, V b) const { return a != a ? a : b != b ? b : maximum{}(a, b); }
};
template <class T> LATHE_INLINE T min(T x, T y) {
  return map<T>(minimum{}, x, y);
}
template <class T> LATHE_INLINE T max(T x, T y) {
  return map<T>(maximum{}, x, y);
}
template <class T> LATHE_INLINE T min_nan(T x, T y) {
  return map<T>(minimum_nan{}, x, y);
}
template <class T> LATHE_INLINE T max_nan(T x, T y) {
  return map<T>(maximum_nan{}, x, y);
}
// The product of two 11-bit (8-bit) mantissas is exact in double, the sum then rounds twice only beyond 53
// bits.
template <class T> LATHE_INLINE T fma(T x, T y, T z) {
  return map<T>(
      [](auto a, auto b, auto c) {
        if constexpr (std::is_same_v<decltype(a), float>)
          return __builtin_fmaf(a, b, c);
        else
          return __builtin_fma(a, b, c);
      },
      x, y, z);
}
template <class T> LATHE_INLINE T saturate(T x) {
  return map<T>([](auto a) { return a > 0 ? (a < 1 ? a : decltype(a)(1)) : decltype(a)(0); }, x);
}
template <class T> LATHE_INLINE T relu(T x) {
  return map<T>([](auto a) { return a != a ? a : (a > 0 ? a : decltype(a)(0)); }, x);
}
template <class T> LATHE_INLINE T mul_hi(T x, T y) {
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>(static_cast<Wide>(x) * static_cast<Wide>(y) >> (8 * sizeof(T)));
}
template <class To, class T> LATHE_INLINE To mul_wide(T x, T y) {
  return static_cast<To>(static_cast<u64>(static_cast<To>(x)) * static_cast<u64>(static_cast<To>(y)));
}
template <class T> LATHE_INLINE T mul24(T x, T y) {
  if constexpr (std::is_signed_v<T>)
    return __mul24(x, y);
  else
    return __umul24(x, y);
}
template <class T> LATHE_INLINE T and_(T x, T y) {
  return static_cast<T>(x & y);
}
template <class T> LATHE_INLINE T or_(T x, T y) {
  return static_cast<T>(x | y);
}
template <class T> LATHE_INLINE T xor_(T x, T y) {
  return static_cast<T>(x ^ y);
}
template <class T> LATHE_INLINE T not_(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return !x;
  else
    return static_cast<T>(~x);
}
template <class T> LATHE_INLINE T shl(T x, u32 n) {
  return n >= 8 * sizeof(T) ? T(0) : static_cast<T>(static_cast<u64>(x) << n);
}
template <class T> LATHE_INLINE T shr(T x, u32 n) {
  const u32 limit = 8 * sizeof(T) - 1;
  return n > limit ? (std::is_signed_v<T> ? static_cast<T>(x >> limit) : T(0)) : static_cast<T>(x >> n);
}
template <u32 table> LATHE_INLINE u32 lop3(u32 a, u32 b, u32 c) {
  u32 result = 0;
  for (u32 i = 0; i < 8; ++i)
    if (table >> i & 1)
      result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}
template <class T> LATHE_INLINE T bfe(T x, u32 position, u32 length) {
  position &= 0xff, length &= 0xff;
  const u32 bits = 8 * sizeof(T);
  if (length == 0)
    return 0;
  const bool negative =
      std::is_signed_v<T> && (x >> (position + length - 1 < bits - 1 ? position + length - 1 : bits - 1) & 1);
  u64 value = position >= bits ? 0 : static_cast<std::make_unsigned_t<T>>(x) >> position;
  const u32 available = position >= bits ? 0 : bits - position;
  const u32 kept = length < available ? length : available;
  const u64 mask = kept >= 64 ? ~0ull : (1ull << kept) - 1;
  value &= mask;
  return static_cast<T>(negative ? value | ~mask : value);
}
template <class T> LATHE_INLINE T bfi(T field, T base, u32 position, u32 length) {
  position &= 0xff, length &= 0xff;
  const u32 bits = 8 * sizeof(T);
  if (length == 0 || position >= bits)
    return base;
  const u64 mask = (length >= 64 ? ~0ull : (1ull << length) - 1) << position;
  return static_cast<T>((static_cast<u64>(base) & ~mask) | ((static_cast<u64>(field) << position) & mask));
}
template <class T> LATHE_INLINE u32 clz(T x) {
  return sizeof(T) == 8 ? __clzll(static_cast<s64>(x)) : __clz(static_cast<s32>(x));
}
template <class T> LATHE_INLINE u32 popc(T x) {
  return __popcll(x);
}
template <class T> LATHE_INLINE T brev(T x) {
  return static_cast<T>(__brevll(x) >> (64 - 8 * sizeof(T)));
}

template <class T> LATHE_INLINE T ex2(T x) {
  return map<T>([](auto a) { return std::exp2(a); }, x);
}
template <class T> LATHE_INLINE T lg2(T x) {
  return map<T>([](auto a) { return std::log2(a); }, x);
}
template <class T> LATHE_INLINE T rcp(T x) {
  return map<T>([](auto a) { return 1 / a; }, x);
}
template <class T> LATHE_INLINE T sqrt(T x) {
  return map<T>([](auto a) { return std::sqrt(a); }, x);
}
template <class T> LATHE_INLINE T rsqrt(T x) {
  return map<T>([](auto a) { return 1 / std::sqrt(a); }, x);
}
template <class T> LATHE_INLINE T tanh(T x) {
  return map<T>([](auto a) { return std::tanh(a); }, x);
}
template <class T> LATHE_INLINE T sin(T x) {
  return map<T>([](auto a) { return std::sin(a); }, x);
}
template <class T> LATHE_INLINE T cos(T x) {
  return map<T>([](auto a) { return std::cos(a); }, x);
}

// Comparisons: eq ne lt le gt ge, their unordered forms with -u, num and nan, and lo ls hi hs for unsigned.
#define LATHE_COMPARE(name, expression, unordered)                                                           \
  struct cmp_##name {                                                                                        \
    template <class V> bool operator()(V a, V b) const {                                                     \
      return (a != a || b != b) ? unordered : (expression);                                                  \
    }                                                                                                        \
  };
LATHE_COMPARE(eq, a == b, false)
LATHE_COMPARE(ne, a != b, false)
LATHE_COMPARE(lt, a < b, false)
LATHE_COMPARE(le, a <= b, false)
LATHE_COMPARE(gt, a > b, false)
LATHE_COMPARE(ge, a >= b, false)
LATHE_COMPARE(equ, a == b, true)
LATHE_COMPARE(neu, a != b, true)
LATHE_COMPARE(ltu, a < b, true)
LATHE_COMPARE(leu, a <= b, true)
LATHE_COMPARE(gtu, a > b, true)
LATHE_COMPARE(geu, a >= b, true)
LATHE_COMPARE(num, true, false)
LATHE_COMPARE(nan, false, true)
using cmp_lo = cmp_lt;
using cmp_ls = cmp_le;
using cmp_hi = cmp_gt;
using cmp_hs = cmp_ge;
template <class C, class T> LATHE_INLINE bool compare(T x, T y) {
  if constexpr (is_small_real<T>)
    return C{}(static_cast<float>(x), static_cast<float>(y));
  else
    return C{}(x, y);
}
// set: all ones or zero for an integer result, 1.0 or 0.0 for a real one.
template <class C, class To, class T> LATHE_INLINE To set_if(T x, T y) {
  if constexpr (is_pair<T>::value && is_pair<To>::value) {
    return To{set_if<C, decltype(To::lo)>(x.lo, y.lo), set_if<C, decltype(To::lo)>(x.hi, y.hi)};
  } else if constexpr (is_pair<T>::value) {
    return static_cast<To>((compare<C>(x.lo, y.lo) ? 0xffffu : 0u) |
                           (compare<C>(x.hi, y.hi) ? 0xffff0000u : 0u));
  } else {
    const bool result = compare<C>(x, y);
    if constexpr (is_real<To>)
      return static_cast<To>(result ? 1.0f : 0.0f);
    else
      return static_cast<To>(result ? ~To(0) : To(0));
  }
}

// cvt with its rounding: n z m p to a real (or integral real with the i forms) and ni zi mi pi to an integer.
template <class T> LATHE_INLINE T round_integral(T value, lathe_host::Rounding rounding) {
  return rounding == lathe_host::Rounding::nearest ? std::nearbyint(value)
         : rounding == lathe_host::Rounding::zero  ? std::trunc(value)
         : rounding == lathe_host::Rounding::down  ? std::floor(value)
                                                   : std::ceil(value);
}
template <class To, class From>
LATHE_INLINE To convert(From x, lathe_host::Rounding rounding, bool integral, bool saturating) {
  if constexpr (is_real<From> && std::is_integral_v<To>) {
    if constexpr (is_small_real<From>)
      return lathe_host::to_integer<To>(static_cast<float>(x), rounding);
    else
      return lathe_host::to_integer<To>(x, rounding);
  } else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    if (saturating) {
      const __int128 wide = x, low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
      return static_cast<To>(wide < low ? low : wide > high ? high : wide);
    }
    return static_cast<To>(x);
  } else {
    long double value;
    if constexpr (is_small_real<From>)
      value = static_cast<float>(x);
    else
      value = static_cast<long double>(x);
    if (integral)
      value = round_integral(value, rounding);
    if (saturating)
      value = value > 0 ? (value < 1 ? value : 1.0L) : 0.0L;
    if constexpr (is_small_real<To>) {
      if (rounding == lathe_host::Rounding::nearest || integral) {
        // To float first would round twice; to odd in between does not.
        const double wide = static_cast<double>(value);
        float near = lathe_host::round_to<float>(wide, lathe_host::Rounding::zero);
        if (static_cast<double>(near) != wide && near == near)
          near = bits_as<float>(bits_as<u32>(near) | 1u);
        return static_cast<To>(near);
      }
      const float single = lathe_host::round_to<float>(value, rounding);
      To near = static_cast<To>(single);
      const float back = static_cast<float>(near);
      const bool want_lower =
          rounding == lathe_host::Rounding::down || (rounding == lathe_host::Rounding::zero && single > 0);
      if (back == single || single != single || (want_lower ? back < single : back > single))
        return near;
      u16 bits = bits_as<u16>(near);
      const bool negative = bits >> 15;
      bits = static_cast<u16>((bits & 0x7fff) == 0     ? (want_lower ? 0x8001 : 0x0001)
                              : negative == want_lower ? bits + 1
                                                       : bits - 1);
      return bits_as<To>(bits);
    } else {
      return lathe_host::round_to<To>(value, rounding);
    }
  }
}

// Memory. `shared` addresses may be offsets into the block's shared window.
template <class T> LATHE_INLINE T* global_pointer(u64 address) {
  return reinterpret_cast<T*>(address);
}
template <class T> LATHE_INLINE T* shared_pointer(u64 address) {
  return address < (1ull << 32) ? reinterpret_cast<T*>(lathe_host::block().shared_window + address)
                                : reinterpret_cast<T*>(address);
}
template <class T> LATHE_INLINE T load(const T* address) {
  struct __attribute__((may_alias)) Cell {
    T value;
  };
  return reinterpret_cast<const Cell*>(address)->value;
}
template <class T> LATHE_INLINE void store(T* address, const T& value) {
  struct __attribute__((may_alias)) Cell {
    T value;
  };
  reinterpret_cast<Cell*>(address)->value = value;
}
// A vector access must be aligned to its whole width.
template <u32 bytes, class T> LATHE_INLINE void aligned(const T* address) {
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    lathe_api->fail("misaligned address in inline assembly", nullptr, 0);
}
template <class T, class F> LATHE_INLINE T atomic(T* address, F next) {
  if constexpr (is_pair<T>::value) {
    T old;
    old.lo = atomic(&address->lo, [&](auto x) { return next(T{x, x}).lo; });
    old.hi = atomic(&address->hi, [&](auto x) { return next(T{x, x}).hi; });
    return old;
  } else {
    return lathe_host::atomic_update(address, next);
  }
}

// shfl.sync: c holds the clamp in bits 0-4 and the segment mask in bits 8-12.
template <class P>
LATHE_INLINE u32 shfl(lathe_host::Shuffle kind, u32 value, u32 operand, u32 c, u32 mask, P& inside,
                      int line) {
  const lathe_host::Exchange* exchange = lathe_api->exchange(mask, lathe_host::OP_SHUFFLE, value, line);
  const u32 self = lathe_host::lane(), segment = c >> 8 & 31, clamp = c & 31;
  const u32 last = (self & segment) | (clamp & ~segment & 31), first = self & segment;
  u32 source = self;
  bool valid = false;
  switch (kind) {
  case lathe_host::Shuffle::up:
    source = self - (operand & 31), valid = static_cast<int>(source) >= static_cast<int>(last);
    break;
  case lathe_host::Shuffle::down:
    source = self + (operand & 31), valid = source <= last;
    break;
  case lathe_host::Shuffle::exclusive_or:
    source = self ^ (operand & 31), valid = source <= last;
    break;
  case lathe_host::Shuffle::index:
    source = first | (operand & 31 & ~segment), valid = source <= last;
    break;
  }
  set(inside, valid);
  return static_cast<u32>(exchange->value[valid ? source : self]);
}

} // namespace lathe_ptx
