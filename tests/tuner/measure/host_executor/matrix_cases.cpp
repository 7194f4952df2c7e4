#include "tests/tuner/measure/host_executor/matrix_cases.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <random>

namespace lathe::testing {
namespace {

using Words = std::vector<std::uint32_t>;

struct Multiplication {
  int rows, depth;
  std::string a, b, c, d, ending; // types, and the operation
};

int bits_of(const std::string& type) {
  static const std::map<std::string, int> BITS{
      {"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"e4m3", 8}, {"e5m2", 8}, {"s8", 8},  {"u8", 8},
      {"s4", 4},   {"u4", 4},    {"b1", 1},    {"f64", 64}, {"f32", 32}, {"s32", 32}};
  return BITS.at(type);
}

// A whole number that a format with so many bits has, in it.
std::uint64_t small_real(int value, int exponent_bits, int mantissa_bits) {
  if (value == 0)
    return 0;
  const int magnitude = std::abs(value), power = std::bit_width(static_cast<unsigned>(magnitude)) - 1;
  const std::uint64_t bias = (1ull << (exponent_bits - 1)) - 1;
  const std::uint64_t mantissa =
      (static_cast<std::uint64_t>(magnitude) << mantissa_bits >> power) & ((1ull << mantissa_bits) - 1);
  return std::uint64_t(value < 0) << (exponent_bits + mantissa_bits) |
         (bias + static_cast<std::uint64_t>(power)) << mantissa_bits | mantissa;
}

std::uint64_t encoded(const std::string& type, int value) {
  static const std::map<std::string, std::pair<int, int>> REALS{
      {"f16", {5, 10}}, {"bf16", {8, 7}},  {"tf32", {8, 23}}, {"e4m3", {4, 3}},
      {"e5m2", {5, 2}}, {"f64", {11, 52}}, {"f32", {8, 23}}};
  if (const auto real = REALS.find(type); real != REALS.end())
    return small_real(value, real->second.first, real->second.second);
  const int bits = bits_of(type);
  return static_cast<std::uint64_t>(value) & ((1ull << bits) - 1);
}

int random_value(const std::string& type, std::mt19937& random) {
  if (type == "s32")
    return static_cast<int>(random() % 2001) - 1000;
  if (type[0] == 's' || type[0] == 'u') {
    const int bits = bits_of(type), half = 1 << (bits - 1);
    return static_cast<int>(random() % (2u << (bits - 1))) - (type[0] == 's' ? half : 0);
  }
  return type == "b1" ? static_cast<int>(random() % 2) : static_cast<int>(random() % 9) - 4;
}

// The registers of one operand of one lane, filled an element at a time.
struct Registers {
  int bits;
  Words words;
  void put(int index, std::uint64_t value) {
    const int at = index * bits;
    if (bits == 64) {
      words[static_cast<std::size_t>(at / 32)] = static_cast<std::uint32_t>(value);
      words[static_cast<std::size_t>(at / 32 + 1)] = static_cast<std::uint32_t>(value >> 32);
    } else {
      words[static_cast<std::size_t>(at / 32)] |= static_cast<std::uint32_t>(value) << at % 32;
    }
  }
};

std::string list(int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}%{}", i == 0 ? "" : ", ", first + i);
  return text + "}";
}

MatrixCase multiplication(const Multiplication& m, std::mt19937& random) {
  const bool wide = m.a == "f64";
  const int bits = bits_of(m.a), per_lane = m.depth / 4,
            run = wide ? 1 : 32 / bits; // elements of a row, of a register
  const auto matrix = [&](int rows, int columns, const std::string& type) {
    std::vector<std::vector<int>> values(static_cast<std::size_t>(rows));
    for (auto& row : values)
      for (int i = 0; i < columns; ++i)
        row.push_back(random_value(type, random));
    return values;
  };
  const auto a = matrix(m.rows, m.depth, m.a), b = matrix(m.depth, 8, m.b), c = matrix(m.rows, 8, m.c);
  const auto value = [](const auto& of, int row, int column) {
    return of[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  };
  const auto words = [](int elements, int element_bits) { return elements * element_bits / 32; };
  const int halves = m.rows / 8, a_words = words(halves * per_lane, bits), b_words = words(per_lane, bits),
            c_words = words(2 * halves, bits_of(m.c)), d_words = words(2 * halves, bits_of(m.d));
  MatrixCase result{fmt::format("m{}n8k{}.{}.{}.{}.{}{}", m.rows, m.depth, m.d, m.a, m.b, m.c, m.ending),
                    "",
                    a_words + b_words + c_words,
                    d_words,
                    {},
                    {}};
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, within = lane % 4;
    Registers in_a{bits, Words(static_cast<std::size_t>(a_words))},
        in_b{bits, Words(static_cast<std::size_t>(b_words))},
        in_c{bits_of(m.c), Words(static_cast<std::size_t>(c_words))},
        out{bits_of(m.d), Words(static_cast<std::size_t>(d_words))};
    for (int i = 0; i < halves * per_lane; ++i) { // registers go through the halves of the rows first
      const int reg = i / run, column = reg / halves * 4 * run + within * run + i % run;
      in_a.put(i, encoded(m.a, value(a, group + reg % halves * 8, column)));
    }
    for (int i = 0; i < per_lane; ++i)
      in_b.put(i, encoded(m.b, value(b, i / run * 4 * run + within * run + i % run, group)));
    for (int i = 0; i < 2 * halves; ++i) {
      const int row = group + i / 2 * 8, column = 2 * within + i % 2;
      int total = value(c, row, column);
      in_c.put(i, encoded(m.c, total));
      for (int k = 0; k < m.depth; ++k) {
        const int x = value(a, row, k), y = value(b, k, column);
        total += m.a != "b1" ? x * y : m.ending == ".and.popc" ? x & y : x ^ y;
      }
      out.put(i, encoded(m.d, total));
    }
    for (const Registers* part : {&in_a, &in_b, &in_c})
      result.in.insert(result.in.end(), part->words.begin(), part->words.end());
    result.out.insert(result.out.end(), out.words.begin(), out.words.end());
  }
  const int size = wide ? 2 : 1; // words of a register
  const int d_count = d_words / size, a_count = a_words / size, b_count = b_words / size,
            c_count = c_words / size;
  std::string operands;
  const std::string letter = wide ? "d" : "r", type = wide ? "double" : "unsigned";
  for (int i = 0; i < d_count; ++i)
    operands += fmt::format("{}\"={}\"(d[{}])", i == 0 ? ": " : ", ", letter, i);
  for (int i = 0; i < a_count + b_count + c_count; ++i)
    operands += fmt::format("{}\"{}\"(r[{}])", i == 0 ? " : " : ", ", letter, i);
  result.source = fmt::format(
      R"(extern "C" __global__ void k(unsigned* out, const unsigned* in, int n) {{
  {0} r[{1}], d[{2}];
  for (int i = 0; i < {1}; ++i) r[i] = reinterpret_cast<const {0}*>(in)[threadIdx.x * {1} + i];
  asm volatile("mma.sync.aligned.m{3}n8k{4}.row.col{15}.{5}.{6}.{7}.{8}{9} {10}, {11}, {12}, {13};\n" {14});
  for (int i = 0; i < {2}; ++i) reinterpret_cast<{0}*>(out)[threadIdx.x * {2} + i] = d[i];
}})",
      type, a_count + b_count + c_count, d_count, m.rows, m.depth, m.d, m.a, m.b, m.c,
      m.ending == ".satfinite" ? "" : m.ending, list(0, d_count), list(d_count, a_count),
      list(d_count + a_count, b_count), list(d_count + a_count + b_count, c_count), operands,
      m.ending == ".satfinite" ? m.ending : "");
  return result;
}

// Element (row, column) of matrix m among the four.
std::uint32_t element(int m, int row, int column) {
  return static_cast<std::uint32_t>(1 + 64 * m + 8 * row + column);
}

} // namespace

std::vector<MatrixCase> multiplications(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<MatrixCase> cases;
  for (const Multiplication& m : std::vector<Multiplication>{{16, 8, "f16", "f16", "f32", "f32", ""},
                                                             {16, 16, "f16", "f16", "f32", "f32", ""},
                                                             {16, 8, "f16", "f16", "f16", "f16", ""},
                                                             {16, 16, "f16", "f16", "f16", "f16", ""},
                                                             {16, 8, "bf16", "bf16", "f32", "f32", ""},
                                                             {16, 16, "bf16", "bf16", "f32", "f32", ""},
                                                             {16, 4, "tf32", "tf32", "f32", "f32", ""},
                                                             {16, 8, "tf32", "tf32", "f32", "f32", ""},
                                                             {16, 32, "e4m3", "e5m2", "f32", "f32", ""},
                                                             {16, 32, "e4m3", "e4m3", "f32", "f32", ""},
                                                             {16, 16, "s8", "s8", "s32", "s32", ""},
                                                             {16, 32, "u8", "s8", "s32", "s32", ".satfinite"},
                                                             {8, 16, "s8", "u8", "s32", "s32", ""},
                                                             {8, 32, "s4", "u4", "s32", "s32", ""},
                                                             {16, 32, "u4", "u4", "s32", "s32", ""},
                                                             {16, 64, "s4", "s4", "s32", "s32", ""},
                                                             {16, 256, "b1", "b1", "s32", "s32", ".and.popc"},
                                                             {8, 128, "b1", "b1", "s32", "s32", ".xor.popc"},
                                                             {8, 4, "f64", "f64", "f64", "f64", ""},
                                                             {16, 4, "f64", "f64", "f64", "f64", ""},
                                                             {16, 8, "f64", "f64", "f64", "f64", ""},
                                                             {16, 16, "f64", "f64", "f64", "f64", ""}}) {
    cases.push_back(multiplication(m, random));
  }
  return cases;
}

std::vector<MatrixCase> matrix_moves() {
  std::vector<MatrixCase> cases;
  const auto row_words = [](int m, int row) { // of a matrix of `in`, two elements a word
    Words words;
    for (int i = 0; i < 4; ++i)
      words.push_back(element(m, row, 2 * i) | element(m, row, 2 * i + 1) << 16);
    return words;
  };
  // Lane i has row i % 8 of matrix i / 8 in `in`, or the words of rows of `out`.
  Words rows;
  for (int lane = 0; lane < 32; ++lane)
    for (const std::uint32_t word : row_words(lane / 8, lane % 8))
      rows.push_back(word);
  for (const int count : {1, 2, 4})
    for (const bool transposed : {false, true}) {
      Words pieces; // what lane i has of each matrix
      for (int lane = 0; lane < 32; ++lane)
        for (int m = 0; m < count; ++m) {
          const int row = lane / 4, column = lane % 4 * 2;
          pieces.push_back(transposed ? element(m, column, row) | element(m, column + 1, row) << 16
                                      : element(m, row, column) | element(m, row, column + 1) << 16);
        }
      std::string outputs, inputs;
      for (int i = 0; i < count; ++i) {
        outputs += fmt::format("{}\"=r\"(d[{}])", i == 0 ? "" : ", ", i);
        inputs += fmt::format(", \"r\"(d[{}])", i);
      }
      const std::string name = fmt::format("m8n8.x{}{}", count, transposed ? ".trans" : "");
      cases.push_back(
          {"ldmatrix." + name,
           fmt::format(R"(extern "C" __global__ void k(unsigned* out, const unsigned* in, int n) {{
  __shared__ __align__(16) unsigned rows[128];
  for (int i = 0; i < 4; ++i) rows[threadIdx.x * 4 + i] = in[threadIdx.x * 4 + i];
  __syncwarp();
  unsigned d[{0}];
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(rows)) + 16 * threadIdx.x;
  asm volatile("ldmatrix.sync.aligned.{1}.shared.b16{2}, [%{0}];\n" : {3} : "r"(at) : "memory");
  for (int i = 0; i < {0}; ++i) out[threadIdx.x * {0} + i] = d[i];
}})",
                       count, name, list(0, count), outputs),
           4, count, rows, pieces});
      Words stored(static_cast<std::size_t>(32 * 4));
      std::copy_n(rows.begin(), 32 * count, stored.begin());
      cases.push_back(
          {"stmatrix." + name,
           fmt::format(R"(extern "C" __global__ void k(unsigned* out, const unsigned* in, int n) {{
  __shared__ __align__(16) unsigned rows[128];
  for (int i = 0; i < 4; ++i) rows[threadIdx.x * 4 + i] = 0;
  __syncwarp();
  unsigned d[{0}];
  for (int i = 0; i < {0}; ++i) d[i] = in[threadIdx.x * {0} + i];
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(rows)) + 16 * threadIdx.x;
  asm volatile("stmatrix.sync.aligned.{1}.shared::cta.b16 [%0], {2};\n" :: "r"(at){3} : "memory");
  __syncwarp();
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = rows[threadIdx.x * 4 + i];
}})",
                       count, name, list(1, count), inputs),
           count, 4, pieces, stored});
    }
  Words straight, transposed;
  for (int lane = 0; lane < 32; ++lane) {
    const int row = lane / 4, column = lane % 4 * 2;
    straight.push_back(element(0, row, column) | element(0, row, column + 1) << 16);
    transposed.push_back(element(0, column, row) | element(0, column + 1, row) << 16);
  }
  cases.push_back({"movmatrix", R"(extern "C" __global__ void k(unsigned* out, const unsigned* in, int n) {
  unsigned d;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;\n" : "=r"(d) : "r"(in[threadIdx.x]));
  out[threadIdx.x] = d;
})",
                   1, 1, straight, transposed});
  return cases;
}

std::vector<MatrixCase> wmma_products(unsigned seed) {
  std::mt19937 random(seed);
  struct Product {
    int m, n, k;
    std::string type, tag, sum_type, sum, layout_a, layout_b, layout_d;
  };
  std::vector<MatrixCase> cases;
  for (const Product& p :
       std::vector<Product>{{16, 16, 16, "f16", "__half", "f32", "float", "row", "col", "row"},
                            {16, 16, 16, "f16", "__half", "f16", "__half", "col", "row", "col"},
                            {32, 8, 16, "f16", "__half", "f32", "float", "row", "row", "row"},
                            {8, 32, 16, "f16", "__half", "f32", "float", "col", "col", "row"},
                            {16, 16, 16, "bf16", "__nv_bfloat16", "f32", "float", "row", "row", "col"},
                            {32, 8, 16, "s8", "signed char", "s32", "int", "row", "col", "row"},
                            {16, 16, 16, "u8", "unsigned char", "s32", "int", "col", "row", "row"},
                            {16, 16, 8, "tf32", "wmma::precision::tf32", "f32", "float", "row", "col", "row"},
                            {8, 8, 4, "f64", "double", "f64", "double", "row", "col", "row"}}) {
    const int bits = bits_of(p.type), sum_bits = bits_of(p.sum_type);
    const auto put = [](Words& words, int element_bits, std::uint64_t value, std::size_t at) {
      Registers one{element_bits, Words(element_bits == 64 ? 2u : 1u)};
      one.put(0, value);
      const std::size_t bit = at * static_cast<std::size_t>(element_bits);
      for (std::size_t i = 0; i < one.words.size(); ++i)
        words[bit / 32 + i] |= one.words[i] << bit % 32;
    };
    const auto size = [](int elements, int element_bits) {
      return static_cast<std::size_t>(elements * element_bits / 32);
    };
    Words a(size(p.m * p.k, bits)), b(size(p.k * p.n, bits)), c(size(p.m * p.n, sum_bits)), d(c.size());
    std::vector<int> x, y;
    const auto place = [](const std::string& layout, int row, int column, int rows, int columns) {
      return static_cast<std::size_t>(layout == "row" ? row * columns + column : column * rows + row);
    };
    for (int i = 0; i < p.m * p.k; ++i) {
      x.push_back(random_value(p.type, random));
      put(a, bits, encoded(p.type, x.back()), place(p.layout_a, i / p.k, i % p.k, p.m, p.k));
    }
    for (int i = 0; i < p.k * p.n; ++i) {
      y.push_back(random_value(p.type, random));
      put(b, bits, encoded(p.type, y.back()), place(p.layout_b, i / p.n, i % p.n, p.k, p.n));
    }
    for (int i = 0; i < p.m * p.n; ++i) {
      int total = random_value(p.sum_type, random);
      const std::size_t at = place(p.layout_d, i / p.n, i % p.n, p.m, p.n);
      put(c, sum_bits, encoded(p.sum_type, total), at);
      for (int k = 0; k < p.k; ++k)
        total +=
            x[static_cast<std::size_t>(i / p.n * p.k + k)] * y[static_cast<std::size_t>(k * p.n + i % p.n)];
      put(d, sum_bits, encoded(p.sum_type, total), at);
    }
    const std::string memory = p.type == "tf32" ? "float" : p.tag;
    MatrixCase one{fmt::format("wmma {}x{}x{} {} {}", p.m, p.n, p.k, p.type, p.sum_type), "", 0, 0, a, d};
    one.in.insert(one.in.end(), b.begin(), b.end());
    one.in.insert(one.in.end(), c.begin(), c.end());
    one.source = fmt::format(R"(#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(unsigned* out, const unsigned* in, int n) {{
  wmma::fragment<wmma::matrix_a, {0}, {1}, {2}, {3}, wmma::{4}_major> a;
  wmma::fragment<wmma::matrix_b, {0}, {1}, {2}, {3}, wmma::{5}_major> b;
  wmma::fragment<wmma::accumulator, {0}, {1}, {2}, {6}> c, d;
  wmma::fill_fragment(d, {6}(1));
  wmma::load_matrix_sync(a, reinterpret_cast<const {7}*>(in), {8});
  wmma::load_matrix_sync(b, reinterpret_cast<const {7}*>(in + {9}), {10});
  wmma::load_matrix_sync(c, reinterpret_cast<const {6}*>(in + {11}), {12}, wmma::mem_{13}_major);
  for (int i = 0; i < c.num_elements; ++i) c.x[i] = c.x[i] - d.x[i];
  wmma::mma_sync(c, a, b, c);
  for (int i = 0; i < c.num_elements; ++i) c.x[i] = c.x[i] + d.x[i];
  wmma::store_matrix_sync(reinterpret_cast<{6}*>(out), c, {12}, wmma::mem_{13}_major);
}})",
                             p.m, p.n, p.k, p.tag, p.layout_a, p.layout_b, p.sum, memory,
                             p.layout_a == "row" ? p.k : p.m, a.size(), p.layout_b == "row" ? p.n : p.k,
                             a.size() + b.size(), p.layout_d == "row" ? p.n : p.m, p.layout_d);
    cases.push_back(std::move(one));
  }
  return cases;
}

} // namespace lathe::testing
