// Tensor cores: ldmatrix, stmatrix, movmatrix and mma as the lanes of one warp do them together. Which lane
// holds which elements is PTX ISA's "Matrix multiply-accumulate operation using mma instruction". Products
// are exact and their sums too, but for double's own rounding; what an instruction gives is rounded once.
// Tensor cores cut off bits of small terms where this does not.
#pragma once

namespace lathe_ptx {

// How the elements of one operand lie in its registers: `bits` of each, and the one with a number. One-bit
// elements are taken a register at a time.
struct matrix_f16 {
  static constexpr u32 bits = 16;
  static LATHE_INLINE double at(u32 word, u32 i) {
    return static_cast<float>(bits_as<f16>(static_cast<u16>(word >> 16 * i)));
  }
};
struct matrix_bf16 {
  static constexpr u32 bits = 16;
  static LATHE_INLINE double at(u32 word, u32 i) {
    return bits_as<float>(i == 0 ? word << 16 : word & 0xffff0000u);
  }
};
struct matrix_tf32 { // 19 bits count
  static constexpr u32 bits = 32;
  static LATHE_INLINE double at(u32 word, u32) { return bits_as<float>(word & 0xffffe000u); }
};
struct matrix_e4m3 {
  static constexpr u32 bits = 8;
  static LATHE_INLINE double at(u32 word, u32 i) { return e4m3_decode(word >> 8 * i & 255); }
};
struct matrix_e5m2 {
  static constexpr u32 bits = 8;
  static LATHE_INLINE double at(u32 word, u32 i) { return e5m2_decode(word >> 8 * i & 255); }
};
struct matrix_f64 {
  static constexpr u32 bits = 64;
  static LATHE_INLINE double at(u64 word, u32) { return bits_as<double>(word); }
};
struct matrix_s8 {
  static constexpr u32 bits = 8;
  static LATHE_INLINE s64 at(u32 word, u32 i) { return static_cast<s8>(word >> 8 * i); }
};
struct matrix_u8 {
  static constexpr u32 bits = 8;
  static LATHE_INLINE s64 at(u32 word, u32 i) { return static_cast<u8>(word >> 8 * i); }
};
struct matrix_s4 {
  static constexpr u32 bits = 4;
  static LATHE_INLINE s64 at(u32 word, u32 i) { return static_cast<s32>(word << (28 - 4 * i)) >> 28; }
};
struct matrix_u4 {
  static constexpr u32 bits = 4;
  static LATHE_INLINE s64 at(u32 word, u32 i) { return word >> 4 * i & 15; }
};

// Results and what is added to: the two of one row that a lane holds, from its first register of that row.
struct sum_f32 {
  static constexpr u32 registers = 2;
  static LATHE_INLINE double at(const u32* first, u32 i) { return bits_as<float>(first[i]); }
  static LATHE_INLINE void put(u32* first, u32 i, double value) {
    first[i] = bits_as<u32>(static_cast<float>(value));
  }
};
struct sum_f16 {
  static constexpr u32 registers = 1;
  static LATHE_INLINE double at(const u32* first, u32 i) { return matrix_f16::at(*first, i); }
  static LATHE_INLINE void put(u32* first, u32 i, double value) {
    const u32 half = bits_as<u16>(static_cast<f16>(static_cast<float>(value)));
    *first = i == 0 ? (*first & 0xffff0000u) | half : (*first & 0xffffu) | half << 16;
  }
};
struct sum_f64 {
  static constexpr u32 registers = 2;
  static LATHE_INLINE double at(const u64* first, u32 i) { return bits_as<double>(first[i]); }
  static LATHE_INLINE void put(u64* first, u32 i, double value) { first[i] = bits_as<u64>(value); }
};
struct sum_s32 {
  static constexpr u32 registers = 2;
  static LATHE_INLINE s64 at(const u32* first, u32 i) { return static_cast<s32>(first[i]); }
  static LATHE_INLINE void put(u32* first, u32 i, s64 value) { first[i] = static_cast<u32>(value); }
};
struct sum_s32_saturated : sum_s32 {
  static LATHE_INLINE void put(u32* first, u32 i, s64 value) {
    first[i] = static_cast<u32>(value > 0x7fffffff        ? 0x7fffffff
                                : value < -0x7fffffff - 1 ? -0x7fffffff - 1
                                                          : value);
  }
};

// Both operands' products of one pair of registers.
template <class A, class B> struct products {
  template <class R> static LATHE_INLINE auto sum(R a, R b) {
    decltype(A::at(a, 0) * B::at(b, 0)) total = 0;
    for (u32 i = 0; i < 8 * sizeof(R) / A::bits; ++i)
      total += A::at(a, i) * B::at(b, i);
    return total;
  }
};
struct products_xor {
  static LATHE_INLINE s64 sum(u32 a, u32 b) { return __builtin_popcount(a ^ b); }
};
struct products_and {
  static LATHE_INLINE s64 sum(u32 a, u32 b) { return __builtin_popcount(a & b); }
};

// Up to two registers of 32 bits, or one of 64, that every lane of the warp has put up.
template <class R> LATHE_INLINE const lathe_host::Exchange* put_up(R first, R second, int line) {
  const u64 value = sizeof(R) == 8 ? u64(first) : u64(first) | u64(second) << 32;
  const lathe_host::Exchange* exchange = lathe_api->exchange(0xffffffffu, lathe_host::OP_MATRIX, value, line);
  if (exchange->lanes != 0xffffffffu)
    lathe_api->fail("an instruction of tensor cores that not all 32 lanes of the warp execute", nullptr,
                    line);
  return exchange;
}
template <class R> LATHE_INLINE R taken(const lathe_host::Exchange* exchange, u32 lane, u32 which) {
  return static_cast<R>(sizeof(R) == 8 ? exchange->value[lane] : exchange->value[lane] >> 32 * which);
}

// What `registers` of all lanes come to: to[i][r] is register r of lane first + i * step.
template <u32 LANES, class R, size_t REGISTERS>
LATHE_UNCHECKED inline void gather(const R (&own)[REGISTERS], u32 first, R (&to)[LANES][REGISTERS],
                                   int line) {
  constexpr u32 at_once = 8 / sizeof(R);
  for (u32 r = 0; r < REGISTERS; r += at_once) {
    const bool has_second = at_once == 2 && r + 1 < REGISTERS;
    const lathe_host::Exchange* exchange = put_up<R>(own[r], has_second ? own[r + 1] : R(0), line);
    for (u32 i = 0; i < LANES; ++i) {
      to[i][r] = taken<R>(exchange, first + i, 0);
      if (has_second)
        to[i][r + 1] = taken<R>(exchange, first + i, 1);
    }
  }
}

// d = a * b + c of ROWS (8 or 16) rows and 8 columns.
template <u32 ROWS, class PRODUCTS, class C, class D, class R, size_t A_REGISTERS, size_t B_REGISTERS,
          size_t C_REGISTERS, size_t D_REGISTERS>
LATHE_UNCHECKED inline void mma(const R (&a)[A_REGISTERS], const R (&b)[B_REGISTERS],
                                const R (&c)[C_REGISTERS], R (&d)[D_REGISTERS], int line) {
  constexpr u32 halves = ROWS / 8;
  static_assert(A_REGISTERS == halves * B_REGISTERS && C_REGISTERS == halves * C::registers &&
                    D_REGISTERS == halves * D::registers,
                "mma: not as many registers as the shape has");
  const u32 lane = lathe_host::lane(), row = lane / 4, column = lane % 4 * 2;
  R a_row[4][A_REGISTERS], b_columns[8][B_REGISTERS];
  gather<4>(a, row * 4, a_row, line);
  gather<8>(b, column * 4, b_columns, line);
  for (u32 half = 0; half < halves; ++half)
    for (u32 i = 0; i < 2; ++i) {
      auto total = C::at(&c[half * C::registers], i);
      for (u32 k = 0; k < B_REGISTERS; ++k)
        for (u32 quarter = 0; quarter < 4; ++quarter)
          total += PRODUCTS::sum(a_row[quarter][k * halves + half], b_columns[4 * i + quarter][k]);
      D::put(&d[half * D::registers], i, total);
    }
}

// Matrices of 8 rows of 16 bytes. Lane i has the address of row i % 8 of matrix i / 8.
template <bool TRANSPOSED, size_t COUNT>
inline void load_matrices(const u32* address, u32 (&to)[COUNT], int line) {
  const u32 lane = lathe_host::lane(), row = lane / 4, quarter = lane % 4;
  u32 own[4] = {};
  if (lane < 8 * COUNT) {
    aligned<16>(address);
    for (u32 i = 0; i < 4; ++i)
      own[i] = load(address + i);
  }
  for (u32 pair = 0; pair < 2; ++pair) {
    const lathe_host::Exchange* exchange = put_up(own[2 * pair], own[2 * pair + 1], line);
    for (u32 m = 0; m < COUNT; ++m)
      if (TRANSPOSED && row / 4 == pair) {
        const u32 shift = row % 2 * 16, word = row / 2 % 2;
        to[m] = (taken<u32>(exchange, 8 * m + 2 * quarter, word) >> shift & 0xffffu) |
                (taken<u32>(exchange, 8 * m + 2 * quarter + 1, word) >> shift & 0xffffu) << 16;
      } else if (!TRANSPOSED && quarter / 2 == pair) {
        to[m] = taken<u32>(exchange, 8 * m + row, quarter % 2);
      }
  }
}
template <bool TRANSPOSED, size_t COUNT>
inline void store_matrices(u32* address, const u32 (&from)[COUNT], int line) {
  const u32 lane = lathe_host::lane(), row = lane % 8;
  u32 all[32][COUNT];
  gather<32>(from, 0, all, line);
  if (lane >= 8 * COUNT)
    return;
  aligned<16>(address);
  for (u32 i = 0; i < 4; ++i) {
    const u32 m = lane / 8, shift = row % 2 * 16;
    store(address + i, TRANSPOSED ? (all[2 * i * 4 + row / 2][m] >> shift & 0xffffu) |
                                        (all[(2 * i + 1) * 4 + row / 2][m] >> shift & 0xffffu) << 16
                                  : all[row * 4 + i][m]);
  }
}
LATHE_INLINE u32 transposed_matrix(u32 own, int line) {
  const u32 lane = lathe_host::lane(), row = lane / 4, column = lane % 4 * 2, shift = row % 2 * 16;
  const lathe_host::Exchange* exchange = put_up(own, 0u, line);
  return (taken<u32>(exchange, column * 4 + row / 2, 0) >> shift & 0xffffu) |
         (taken<u32>(exchange, (column + 1) * 4 + row / 2, 0) >> shift & 0xffffu) << 16;
}

} // namespace lathe_ptx
