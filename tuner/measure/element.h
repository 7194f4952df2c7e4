// Elements of buffers: conversions, deterministic fills and the error of one element. Compiled as C++ by the
// host executor and by NVRTC inside the GPU runner, so that both see the same data and judge by the same
// rule; therefore no standard header is included, integer widths are spelled with built-in types, and all
// arithmetic is either on integers or single correctly rounded operations on doubles.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define LATHE_ELEMENT_FUNCTION __host__ __device__ inline
#else
#define LATHE_ELEMENT_FUNCTION inline
#endif

namespace lathe::element {

using u64 = unsigned long long;
using i64 = long long;
static_assert(sizeof(u64) == 8 && sizeof(unsigned) == 4 && sizeof(unsigned short) == 2);

enum DType : int { f64, f32, f16, bf16, e4m3, e5m2, s64, s32, s16, s8, u64_, u32, u16, u8, boolean };

LATHE_ELEMENT_FUNCTION int size_of(int dtype) {
  switch (dtype) {
  case f64:
  case s64:
  case u64_:
    return 8;
  case f32:
  case s32:
  case u32:
    return 4;
  case f16:
  case bf16:
  case s16:
  case u16:
    return 2;
  default:
    return 1;
  }
}

LATHE_ELEMENT_FUNCTION bool is_real(int dtype) {
  return dtype <= e5m2;
}
LATHE_ELEMENT_FUNCTION bool is_signed_integer(int dtype) {
  return dtype >= s64 && dtype <= s8;
}

// Rounds to the nearest value of a small binary format, ties to even. `limit`: bits of the largest finite
// value; beyond it the result is `overflow` (infinity's bits, or `limit` itself for a saturating format).
LATHE_ELEMENT_FUNCTION unsigned encode_small(double value, int exponent_bits, int mantissa_bits,
                                             unsigned limit, unsigned overflow, unsigned nan) {
  const u64 bits = __builtin_bit_cast(u64, value);
  const unsigned sign = static_cast<unsigned>(bits >> 63) << (exponent_bits + mantissa_bits);
  const u64 magnitude = bits & ~(1ull << 63);
  if (magnitude > 0x7ff0000000000000ull)
    return sign | nan;
  if (magnitude == 0x7ff0000000000000ull)
    return sign | overflow;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(magnitude >> 52) - 1023; // a double's subnormals round to zero below
  if (exponent > bias + 1)
    return sign | overflow;
  const u64 mantissa = (magnitude & 0xfffffffffffffull) | (1ull << 52);
  const bool subnormal = exponent < 1 - bias;
  const int shift = 52 - mantissa_bits + (subnormal ? 1 - bias - exponent : 0);
  if (shift > 54)
    return sign;
  const u64 rounded = (mantissa + (1ull << (shift - 1)) - 1 + ((mantissa >> shift) & 1)) >> shift;
  const u64 result = subnormal ? rounded
                               : (static_cast<u64>(exponent + bias - 1) << mantissa_bits) +
                                     rounded; // carries into the exponent
  return sign | (result > limit ? overflow : static_cast<unsigned>(result));
}

// 2^exponent for -1022 <= exponent <= 1023.
LATHE_ELEMENT_FUNCTION double power_of_two(int exponent) {
  return __builtin_bit_cast(double, static_cast<u64>(exponent + 1023) << 52);
}

LATHE_ELEMENT_FUNCTION double decode_small(unsigned bits, int exponent_bits, int mantissa_bits,
                                           bool has_infinity) {
  const unsigned sign = bits >> (exponent_bits + mantissa_bits) & 1;
  const unsigned exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double value;
  if (exponent == (1u << exponent_bits) - 1 && (has_infinity || mantissa == (1u << mantissa_bits) - 1))
    value = __builtin_bit_cast(double, mantissa ? 0x7ff8000000000000ull : 0x7ff0000000000000ull);
  else if (exponent == 0)
    value = mantissa * power_of_two(1 - bias - mantissa_bits);
  else
    value =
        (mantissa + (1u << mantissa_bits)) * power_of_two(static_cast<int>(exponent) - bias - mantissa_bits);
  return sign ? -value : value;
}

// The value nearest to `value`; fp8 formats and integers saturate, NaN becomes an integer's 0, a bool is
// value > 0.
LATHE_ELEMENT_FUNCTION u64 encode(int dtype, double value) {
  switch (dtype) {
  case f64:
    return __builtin_bit_cast(u64, value);
  case f32:
    return __builtin_bit_cast(unsigned, static_cast<float>(value));
  case f16:
    return encode_small(value, 5, 10, 0x7bff, 0x7c00, 0x7e00);
  case bf16:
    return encode_small(value, 8, 7, 0x7f7f, 0x7f80, 0x7fc0);
  case e4m3:
    return encode_small(value, 4, 3, 0x7e, 0x7e, 0x7f);
  case e5m2:
    return encode_small(value, 5, 2, 0x7b, 0x7b, 0x7e);
  case boolean:
    return value > 0;
  default:
    break;
  }
  const int bits = 8 * size_of(dtype);
  if (!(value == value))
    return 0;
  if (is_signed_integer(dtype)) {
    const double limit = power_of_two(bits - 1);
    const i64 largest = static_cast<i64>((1ull << (bits - 1)) - 1);
    const i64 integer = value >= limit ? largest : value <= -limit ? -largest - 1 : static_cast<i64>(value);
    return static_cast<u64>(integer) & (bits == 64 ? ~0ull : (1ull << bits) - 1);
  }
  const u64 largest = bits == 64 ? ~0ull : (1ull << bits) - 1;
  return value <= 0 ? 0 : value >= power_of_two(bits - 1) * 2 ? largest : static_cast<u64>(value);
}

// The low size_of(dtype) bytes of `bits` as a signed integer.
LATHE_ELEMENT_FUNCTION i64 sign_extend(int dtype, u64 bits) {
  const int unused = 64 - 8 * size_of(dtype);
  return static_cast<i64>(bits << unused) >> unused;
}

// Exact, but for 64-bit integers beyond 2^53.
LATHE_ELEMENT_FUNCTION double decode(int dtype, u64 bits) {
  switch (dtype) {
  case f64:
    return __builtin_bit_cast(double, bits);
  case f32:
    return __builtin_bit_cast(float, static_cast<unsigned>(bits));
  case f16:
    return decode_small(static_cast<unsigned>(bits), 5, 10, true);
  case bf16:
    return decode_small(static_cast<unsigned>(bits), 8, 7, true);
  case e4m3:
    return decode_small(static_cast<unsigned>(bits), 4, 3, false);
  case e5m2:
    return decode_small(static_cast<unsigned>(bits), 5, 2, true);
  default:
    return is_signed_integer(dtype) ? static_cast<double>(sign_extend(dtype, bits))
                                    : static_cast<double>(bits);
  }
}

LATHE_ELEMENT_FUNCTION u64 load(int dtype, const void* data, u64 index) {
  switch (size_of(dtype)) {
  case 8:
    return static_cast<const u64*>(data)[index];
  case 4:
    return static_cast<const unsigned*>(data)[index];
  case 2:
    return static_cast<const unsigned short*>(data)[index];
  default:
    return static_cast<const unsigned char*>(data)[index];
  }
}

LATHE_ELEMENT_FUNCTION void store(int dtype, void* data, u64 index, u64 bits) {
  switch (size_of(dtype)) {
  case 8:
    static_cast<u64*>(data)[index] = bits;
    break;
  case 4:
    static_cast<unsigned*>(data)[index] = static_cast<unsigned>(bits);
    break;
  case 2:
    static_cast<unsigned short*>(data)[index] = static_cast<unsigned short>(bits);
    break;
  default:
    static_cast<unsigned char*>(data)[index] = static_cast<unsigned char>(bits);
  }
}

// The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
LATHE_ELEMENT_FUNCTION u64 mix(u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// one_range: offsets of which one range holds everything and the others are empty.
enum FillKind : int { normal, uniform, integer, zero, permutation, offsets, one_range };

// How one buffer is filled: element i is a function of (key, i) alone.
struct FillPlan {
  int dtype;
  int kind;
  double base, scale; // normal: mean, spread; uniform: low, high - low
  i64 integer_low;
  u64 integer_range; // number of values, 0: all 2^64; of offsets the last one, at most 2^47
  u64 key;           // from the seed and the buffer's place
  u64 count;
};

// A bijection of [0, count): a four-round Feistel network over the next even power of two, walked until
// inside.
LATHE_ELEMENT_FUNCTION u64 permute(u64 index, u64 count, u64 key) {
  int half = 1;
  while (half < 32 && (1ull << (2 * half)) < count)
    ++half;
  const u64 mask = (1ull << half) - 1;
  do {
    u64 left = index >> half, right = index & mask;
    for (u64 round = 0; round < 4; ++round) {
      const u64 next = left ^ (mix(right ^ (key + round * 0xd1342543de82ef95ull)) & mask);
      left = right;
      right = next;
    }
    index = left << half | right;
  } while (index >= count);
  return index;
}

// Element `index` of numbers that rise from 0 to plan.integer_range and never fall: the interval around it is
// halved, and the half's share of what is left to rise drawn, until it is the interval's end. Shares lie
// between a quarter and three quarters, so that ranges differ as those of real data do; the last ranges get
// anything, a quarter of them nothing.
LATHE_ELEMENT_FUNCTION u64 offset_at(const FillPlan& plan, u64 index) {
  u64 begin = 0, end = plan.count - 1, low = 0, high = plan.integer_range;
  if (index == 0)
    return 0;
  if (index >= end)
    return high;
  while (true) {
    const u64 middle = begin + (end - begin) / 2;
    const u64 hash = mix(plan.key ^ mix(middle));
    const u64 drawn = hash >> 48; // of 2^16
    const u64 share = end - begin > 2 ? 0x4000 + drawn / 2
                      : hash % 4 == 0 ? 0
                      : hash % 4 == 1 ? 0x10000
                                      : drawn;
    const u64 value = low + (((high - low) * share) >> 16);
    if (index == middle)
      return value;
    (index < middle ? end : begin) = middle;
    (index < middle ? high : low) = value;
  }
}

// The same where one range, which the key decides, holds everything.
LATHE_ELEMENT_FUNCTION u64 offset_in_one_range(const FillPlan& plan, u64 index) {
  const u64 ranges = plan.count > 1 ? plan.count - 1 : 1;
  return index <= plan.key % ranges ? 0 : plan.integer_range;
}

// The bits of element `index`.
LATHE_ELEMENT_FUNCTION u64 fill_bits(const FillPlan& plan, u64 index) {
  if (plan.kind == zero)
    return encode(plan.dtype, 0);
  if (plan.kind != normal && plan.kind != uniform) {
    const u64 hash = mix(plan.key ^ mix(index));
    const u64 offset = plan.kind == offsets       ? offset_at(plan, index)
                       : plan.kind == one_range   ? offset_in_one_range(plan, index)
                       : plan.kind == permutation ? permute(index, plan.count, plan.key)
                       : plan.integer_range       ? hash % plan.integer_range
                                                  : hash;
    const u64 value = static_cast<u64>(plan.integer_low) + offset;
    if (is_real(plan.dtype))
      return encode(plan.dtype, static_cast<double>(static_cast<i64>(value)));
    if (plan.dtype == boolean)
      return value != 0;
    const int bits = 8 * size_of(plan.dtype);
    return bits == 64 ? value : value & ((1ull << bits) - 1);
  }
  const u64 hash = mix(plan.key ^ mix(index));
  double unit; // exact: an integer times a power of two, or one rounding
  if (plan.kind == uniform) {
    unit = static_cast<double>(hash >> 11) * power_of_two(-53);
  } else {
    // Irwin-Hall: eight 16-bit uniforms have mean 8 * 32767.5 and variance 8 * (2^32 - 1) / 12.
    const u64 more = mix(hash);
    i64 sum = 0;
    for (int part = 0; part < 64; part += 16)
      sum += static_cast<i64>((hash >> part & 0xffff) + (more >> part & 0xffff));
    unit = static_cast<double>(sum - 262140) * 1.8688123650118534e-05; // 1 / sqrt(8 * (2^32 - 1) / 12)
  }
  const double product = unit * plan.scale;
  return encode(plan.dtype, plan.base + product);
}

// What an element may differ by: allowed = absolute + relative * (|reference| + magnitude / 16), where
// magnitude is the root mean square of the reference's finite elements: results that cancel are judged by
// what they came from.
struct ErrorRule {
  int dtype;
  double relative, absolute, magnitude;
};

// |out - reference| / allowed; 0 for equal bits and for the same class of non-finite value. Above 1 is a
// failure; a NaN or an infinity on one side only, and any difference where nothing is allowed, is 1e300.
LATHE_ELEMENT_FUNCTION double element_error(const ErrorRule& rule, u64 out, u64 reference) {
  constexpr double WRONG = 1e300;
  if (out == reference)
    return 0;
  double difference, size;
  if (is_real(rule.dtype)) {
    const double x = decode(rule.dtype, out), r = decode(rule.dtype, reference);
    constexpr u64 INFINITE = 0x7ff0000000000000ull, MAGNITUDE = 0x7fffffffffffffffull;
    const u64 x_bits = __builtin_bit_cast(u64, x) & MAGNITUDE,
              r_bits = __builtin_bit_cast(u64, r) & MAGNITUDE;
    if (x_bits > INFINITE && r_bits > INFINITE)
      return 0;
    if (x_bits >= INFINITE || r_bits >= INFINITE)
      return x == r ? 0 : WRONG;
    difference = x > r ? x - r : r - x;
    size = r < 0 ? -r : r;
  } else if (is_signed_integer(rule.dtype)) {
    const i64 x = sign_extend(rule.dtype, out), r = sign_extend(rule.dtype, reference);
    difference = static_cast<double>(x > r ? static_cast<u64>(x) - static_cast<u64>(r)
                                           : static_cast<u64>(r) - static_cast<u64>(x));
    size = r < 0 ? -static_cast<double>(r) : static_cast<double>(r);
  } else {
    difference = static_cast<double>(out > reference ? out - reference : reference - out);
    size = static_cast<double>(reference);
  }
  const double allowed = rule.absolute + rule.relative * (size + rule.magnitude / 16);
  if (difference == 0)
    return 0; // +0 and -0
  return allowed > 0 && difference / allowed < WRONG ? difference / allowed : WRONG;
}

} // namespace lathe::element
