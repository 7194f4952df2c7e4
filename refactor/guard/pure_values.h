// The values of a kernel that follow from others by arithmetic alone, and whether one of them is the same
// function as another kernel's: decided by evaluating both, not by how they are written.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace llvm {
class Function;
}

namespace lathe::refactor {

enum class PureOp : std::uint8_t {
  leaf, // loaded, passed, exchanged, chosen by a loop, or computed in a way that is not known here
  constant,
  add,
  sub,
  mul,
  udiv,
  sdiv,
  urem,
  srem,
  shl,
  lshr,
  ashr,
  bit_and,
  bit_or,
  bit_xor,
  smin,
  smax,
  umin,
  umax,
  mulhi_signed,
  mulhi_unsigned,
  zext,
  sext,
  trunc,
  bitcast,
  select,
  icmp,
  fcmp,
  fadd,
  fsub,
  fmul,
  fdiv,
  fma,
  fneg,
  fabs,
  copysign,
  fmin,
  fmax,
  is_class, // of the kinds of real numbers that the second names, as llvm.is.fpclass has them
  floor,
  ceil,
  toward_zero,
  to_nearest,
  away_from_zero,
  to_signed,
  to_unsigned, // of a real number; `detail` is a Toward
  from_signed,
  from_unsigned,
  resize_real
};

// Which way a conversion to an integer rounds.
enum class Toward : std::uint8_t { zero, nearest, below, above };

struct PureNode {
  PureOp op = PureOp::leaf;
  bool is_real = false;       // 32 or 64 bits
  std::uint8_t bits = 0;      // up to 64
  unsigned detail = 0;        // a comparison's llvm::CmpInst::Predicate, a Toward, NEVER_WRAPS
  std::uint64_t constant = 0; // its bits
  std::array<int, 3> from{-1, -1, -1};
};

// In the order of the text: what a node is made of stands before it, but for what loops bring around.
struct PureValues {
  std::vector<PureNode> nodes;
  std::vector<std::vector<int>> users; // by node; -1: something that is no pure value
};

PureValues pure_values(llvm::Function& function);

using PureQuestion = std::function<bool(const PureValues&, const PureNode&)>;

// Whether every node that `is_asked_for` serves nothing but values that are the same functions of the same
// kinds of numbers as values of `known`; false where there is no such node. Functions of up to three numbers
// are compared at all corner cases of their types, at the constants of both, and at a million other numbers.
bool serves_known_functions(const PureValues& values, const PureQuestion& is_asked_for,
                            const PureValues& known);

bool is_rounding(const PureValues& values, const PureNode& node);
bool is_upper_product(const PureValues& values, const PureNode& node);
// A comparison with the number, or with its neighbour, which the optimiser may have put in its place. Where
// the number is the exponent of what is no number, also a question for a number's kind.
bool asks_for(const PureValues& values, const PureNode& node, std::uint64_t number);

} // namespace lathe::refactor
