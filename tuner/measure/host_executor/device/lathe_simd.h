// CUDA's arithmetic on two halves or four bytes of a word (the CUDA Math API's "SIMD Intrinsics"), lane by
// lane.
#pragma once

namespace lathe_host {

template <int BITS, class Value> LATHE_DEVICE Value lane_of(unsigned word, int at) {
  const unsigned bits = word >> at & ((1u << BITS) - 1);
  if constexpr (static_cast<Value>(-1) < static_cast<Value>(0))
    return static_cast<Value>(bits << (32 - BITS)) >> (32 - BITS);
  else
    return static_cast<Value>(bits);
}

// The word of operation(x, y) for each pair of lanes, cut to a lane's bits.
template <int BITS, class Value, class Operation>
LATHE_DEVICE unsigned by_lanes(unsigned a, unsigned b, Operation operation) {
  unsigned result = 0;
  for (int at = 0; at < 32; at += BITS)
    result |= (static_cast<unsigned>(operation(lane_of<BITS, Value>(a, at), lane_of<BITS, Value>(b, at))) &
               ((1u << BITS) - 1))
              << at;
  return result;
}

template <int BITS> LATHE_DEVICE int signed_lane(int value) {
  constexpr int HIGH = (1 << (BITS - 1)) - 1;
  return value > HIGH ? HIGH : value < -HIGH - 1 ? -HIGH - 1 : value;
}
template <int BITS> LATHE_DEVICE int unsigned_lane(int value) {
  constexpr int HIGH = (1 << BITS) - 1;
  return value > HIGH ? HIGH : value < 0 ? 0 : value;
}

} // namespace lathe_host

// `x` and `y` are a pair of lanes, as int; S and U name how they are read.
#define LATHE_SIMD_OPERATION(name, width, bits, reading, expression)                                         \
  LATHE_DEVICE unsigned name##width(unsigned a, unsigned b) {                                                \
    return lathe_host::by_lanes<bits, reading>(a, b, [](int x, int y) { return expression; });               \
  }
#define LATHE_SIMD_UNARY(name, width, bits, expression)                                                      \
  LATHE_DEVICE unsigned name##width(unsigned a) {                                                            \
    return lathe_host::by_lanes<bits, int>(a, a, [](int x, int) { return expression; });                     \
  }
#define LATHE_SIMD_COMPARISON(name, width, bits, reading, operation)                                         \
  LATHE_SIMD_OPERATION(__vcmp##name, width, bits, reading, (x operation y ? -1 : 0))                         \
  LATHE_SIMD_OPERATION(__vset##name, width, bits, reading, (x operation y ? 1 : 0))
#define LATHE_SIMD_SUM(name, width, bits, reading)                                                           \
  LATHE_DEVICE unsigned name##width(unsigned a, unsigned b) {                                                \
    unsigned sum = 0;                                                                                        \
    for (int at = 0; at < 32; at += bits) {                                                                  \
      const int x = static_cast<int>(lathe_host::lane_of<bits, reading>(a, at)),                             \
                y = static_cast<int>(lathe_host::lane_of<bits, reading>(b, at));                             \
      sum += static_cast<unsigned>(x < y ? y - x : x - y);                                                   \
    }                                                                                                        \
    return sum;                                                                                              \
  }
#define LATHE_SIMD(width, bits)                                                                              \
  LATHE_SIMD_OPERATION(__vadd, width, bits, unsigned, x + y)                                                 \
  LATHE_SIMD_OPERATION(__vsub, width, bits, unsigned, x - y)                                                 \
  LATHE_SIMD_OPERATION(__vaddss, width, bits, int, lathe_host::signed_lane<bits>(x + y))                     \
  LATHE_SIMD_OPERATION(__vsubss, width, bits, int, lathe_host::signed_lane<bits>(x - y))                     \
  LATHE_SIMD_OPERATION(__vaddus, width, bits, unsigned, lathe_host::unsigned_lane<bits>(x + y))              \
  LATHE_SIMD_OPERATION(__vsubus, width, bits, unsigned, lathe_host::unsigned_lane<bits>(x - y))              \
  LATHE_SIMD_OPERATION(__vavgu, width, bits, unsigned, (x + y + 1) >> 1)                                     \
  LATHE_SIMD_OPERATION(__vhaddu, width, bits, unsigned, (x + y) >> 1)                                        \
  LATHE_SIMD_OPERATION(__vmaxs, width, bits, int, (x < y ? y : x))                                           \
  LATHE_SIMD_OPERATION(__vmaxu, width, bits, unsigned, (x < y ? y : x))                                      \
  LATHE_SIMD_OPERATION(__vmins, width, bits, int, (y < x ? y : x))                                           \
  LATHE_SIMD_OPERATION(__vminu, width, bits, unsigned, (y < x ? y : x))                                      \
  LATHE_SIMD_OPERATION(__vabsdiffs, width, bits, int, (x < y ? y - x : x - y))                               \
  LATHE_SIMD_OPERATION(__vabsdiffu, width, bits, unsigned, (x < y ? y - x : x - y))                          \
  LATHE_SIMD_UNARY(__vabs, width, bits, (x < 0 ? -x : x))                                                    \
  LATHE_SIMD_UNARY(__vabsss, width, bits, lathe_host::signed_lane<bits>(x < 0 ? -x : x))                     \
  LATHE_SIMD_UNARY(__vneg, width, bits, -x)                                                                  \
  LATHE_SIMD_UNARY(__vnegss, width, bits, lathe_host::signed_lane<bits>(-x))                                 \
  LATHE_SIMD_COMPARISON(eq, width, bits, unsigned, ==)                                                       \
  LATHE_SIMD_COMPARISON(ne, width, bits, unsigned, !=)                                                       \
  LATHE_SIMD_COMPARISON(ges, width, bits, int, >=)                                                           \
  LATHE_SIMD_COMPARISON(geu, width, bits, unsigned, >=)                                                      \
  LATHE_SIMD_COMPARISON(gts, width, bits, int, >)                                                            \
  LATHE_SIMD_COMPARISON(gtu, width, bits, unsigned, >)                                                       \
  LATHE_SIMD_COMPARISON(les, width, bits, int, <=)                                                           \
  LATHE_SIMD_COMPARISON(leu, width, bits, unsigned, <=)                                                      \
  LATHE_SIMD_COMPARISON(lts, width, bits, int, <)                                                            \
  LATHE_SIMD_COMPARISON(ltu, width, bits, unsigned, <)                                                       \
  LATHE_SIMD_SUM(__vsads, width, bits, int)                                                                  \
  LATHE_SIMD_SUM(__vsadu, width, bits, unsigned)
LATHE_SIMD(2, 16)
LATHE_SIMD(4, 8)
#undef LATHE_SIMD
#undef LATHE_SIMD_SUM
#undef LATHE_SIMD_COMPARISON
#undef LATHE_SIMD_UNARY
#undef LATHE_SIMD_OPERATION
