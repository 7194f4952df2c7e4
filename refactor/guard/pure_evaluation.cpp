#include "refactor/guard/pure_evaluation.h"

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>

namespace lathe::refactor {
namespace {

std::int64_t with_sign(Bits value, int bits) {
  const int unused = 64 - bits;
  return static_cast<std::int64_t>(value << unused) >> unused;
}

template <class Real> Real real_of(Bits value) {
  if constexpr (sizeof(Real) == 4)
    return std::bit_cast<float>(static_cast<std::uint32_t>(value));
  else
    return std::bit_cast<double>(value);
}

// As a GPU converts: the nearest number that there is, and zero (or the top bit alone, in 64 bits) for none.
Bits integer_of(double value, bool is_signed, int bits, Toward toward) {
  if (std::isnan(value))
    return bits == 64 ? Bits{1} << 63 : 0;
  switch (toward) {
  case Toward::zero:
    value = std::trunc(value);
    break;
  case Toward::nearest:
    value = std::nearbyint(value);
    break;
  case Toward::below:
    value = std::floor(value);
    break;
  case Toward::above:
    value = std::ceil(value);
    break;
  }
  const double most = std::ldexp(1.0, is_signed ? bits - 1 : bits), least = is_signed ? -most : 0.0;
  if (value >= most)
    return is_signed ? mask_of(bits - 1) : mask_of(bits);
  if (value <= least)
    return is_signed ? Bits{1} << (bits - 1) : 0;
  return (is_signed ? static_cast<Bits>(static_cast<std::int64_t>(value)) : static_cast<Bits>(value)) &
         mask_of(bits);
}

// `x` and `y` are the same numbers with a sign, and exact.
bool compare_integers(unsigned predicate, Bits a, Bits b, Wide x, Wide y) {
  using P = llvm::CmpInst;
  // Of numbers that are not below zero the optimiser asks without a sign what the text asks with one.
  if (P::isUnsigned(static_cast<P::Predicate>(predicate)) && x >= 0 && y >= 0)
    predicate = llvm::ICmpInst::getSignedPredicate(static_cast<P::Predicate>(predicate));
  switch (predicate) {
  case P::ICMP_EQ:
    return a == b;
  case P::ICMP_NE:
    return a != b;
  case P::ICMP_UGT:
    return a > b;
  case P::ICMP_UGE:
    return a >= b;
  case P::ICMP_ULT:
    return a < b;
  case P::ICMP_ULE:
    return a <= b;
  case P::ICMP_SGT:
    return x > y;
  case P::ICMP_SGE:
    return x >= y;
  case P::ICMP_SLT:
    return x < y;
  default:
    return x <= y;
  }
}

// A real comparison's predicate is a set of what may hold: equal, greater, less, unordered.
template <class Real> bool compare_reals(unsigned predicate, Real a, Real b) {
  const unsigned holds = std::isnan(a) || std::isnan(b) ? 8u : a < b ? 4u : a > b ? 2u : 1u;
  return (predicate & holds) != 0;
}

// llvm::FPClassTest's bit.
template <class Real> Bits class_of(Real value) {
  constexpr Bits SIGNALLING = 1, QUIET = 2;
  if (std::isnan(value))
    return SIGNALLING | QUIET;
  const bool is_negative = std::signbit(value);
  switch (std::fpclassify(value)) {
  case FP_INFINITE:
    return is_negative ? 4 : 512;
  case FP_NORMAL:
    return is_negative ? 8 : 256;
  case FP_SUBNORMAL:
    return is_negative ? 16 : 128;
  default:
    return is_negative ? 32 : 64;
  }
}

template <class Real> Bits real_result(const PureNode& node, Bits a, Bits b, Bits c) {
  const Real x = real_of<Real>(a), y = real_of<Real>(b);
  switch (node.op) {
  case PureOp::fadd:
    return bits_of(x + y);
  case PureOp::fsub:
    return bits_of(x - y);
  case PureOp::fmul:
    return bits_of(x * y);
  case PureOp::fdiv:
    return bits_of(x / y);
  case PureOp::fma:
    return bits_of(std::fma(x, y, real_of<Real>(c)));
  case PureOp::fneg:
    return bits_of(-x);
  case PureOp::fabs:
    return bits_of(std::fabs(x));
  case PureOp::copysign:
    return bits_of(std::copysign(x, y));
  case PureOp::fmin:
    return bits_of(x == y ? (std::signbit(x) ? x : y) : std::fmin(x, y));
  case PureOp::fmax:
    return bits_of(x == y ? (std::signbit(x) ? y : x) : std::fmax(x, y));
  case PureOp::floor:
    return bits_of(std::floor(x));
  case PureOp::ceil:
    return bits_of(std::ceil(x));
  case PureOp::toward_zero:
    return bits_of(std::trunc(x));
  case PureOp::to_nearest:
    return bits_of(std::nearbyint(x));
  default:
    return bits_of(std::round(x));
  }
}

Bits shifted(const PureNode& node, Bits a, Bits b, int bits) {
  const bool is_out = b >= static_cast<Bits>(bits);
  if (node.op == PureOp::shl)
    return is_out ? 0 : a << b;
  if (node.op == PureOp::lshr)
    return is_out ? 0 : a >> b;
  return static_cast<Bits>(with_sign(a, bits) >> (is_out ? bits - 1 : static_cast<int>(b)));
}

Bits quotient(const PureNode& node, Bits a, Bits b, int bits) {
  const std::int64_t x = with_sign(a, bits), y = with_sign(b, bits);
  if (b == 0)
    return mask_of(bits);
  switch (node.op) {
  case PureOp::udiv:
    return a / b;
  case PureOp::urem:
    return a % b;
  case PureOp::sdiv:
    return y == -1 ? Bits{0} - a : static_cast<Bits>(x / y);
  default:
    return y == -1 ? 0 : static_cast<Bits>(x % y);
  }
}

Bits integer_result(const PureNode& node, Bits a, Bits b, int bits) {
  __extension__ typedef unsigned __int128 UnsignedWide; // NOLINT(modernize-use-using)
  const std::int64_t x = with_sign(a, bits), y = with_sign(b, bits);
  switch (node.op) {
  case PureOp::add:
    return a + b;
  case PureOp::sub:
    return a - b;
  case PureOp::mul:
    return a * b;
  case PureOp::bit_and:
    return a & b;
  case PureOp::bit_or:
    return a | b;
  case PureOp::bit_xor:
    return a ^ b;
  case PureOp::smin:
    return x < y ? a : b;
  case PureOp::smax:
    return x > y ? a : b;
  case PureOp::umin:
    return std::min(a, b);
  case PureOp::umax:
    return std::max(a, b);
  case PureOp::mulhi_signed:
    return static_cast<Bits>(static_cast<Wide>(x) * y >> bits);
  case PureOp::mulhi_unsigned:
    return static_cast<Bits>(static_cast<UnsignedWide>(a) * b >> bits);
  case PureOp::shl:
  case PureOp::lshr:
  case PureOp::ashr:
    return shifted(node, a, b, bits);
  default:
    return quotient(node, a, b, bits);
  }
}

Bits evaluate(const Expression::Step& step, Bits a, Bits b, Bits c) {
  const PureNode& node = step.node;
  const Kind from = step.kinds[0];
  const auto wide = [&] { return from.bits == 32 ? double{real_of<float>(a)} : real_of<double>(a); };
  switch (node.op) {
  case PureOp::zext:
  case PureOp::bitcast:
    return a;
  case PureOp::trunc:
    return a & mask_of(node.bits);
  case PureOp::sext:
    return static_cast<Bits>(with_sign(a, from.bits)) & mask_of(node.bits);
  case PureOp::select:
    return a != 0 ? b : c;
  case PureOp::fcmp:
    return from.bits == 32 ? compare_reals(node.detail, real_of<float>(a), real_of<float>(b))
                           : compare_reals(node.detail, real_of<double>(a), real_of<double>(b));
  case PureOp::is_class:
    return ((from.bits == 32 ? class_of(real_of<float>(a)) : class_of(real_of<double>(a))) & b) != 0;
  case PureOp::to_signed:
  case PureOp::to_unsigned:
    return integer_of(wide(), node.op == PureOp::to_signed, node.bits, static_cast<Toward>(node.detail));
  case PureOp::from_signed:
    return node.bits == 32 ? bits_of(static_cast<float>(with_sign(a, from.bits)))
                           : bits_of(static_cast<double>(with_sign(a, from.bits)));
  case PureOp::from_unsigned:
    return node.bits == 32 ? bits_of(static_cast<float>(a)) : bits_of(static_cast<double>(a));
  case PureOp::resize_real:
    return node.bits == 32 ? bits_of(static_cast<float>(real_of<double>(a))) : bits_of(wide());
  default:
    break;
  }
  if (node.is_real)
    return node.bits == 32 ? real_result<float>(node, a, b, c) : real_result<double>(node, a, b, c);
  return integer_result(node, a, b, node.bits) & mask_of(node.bits);
}

} // namespace

// A sum that may not overflow is what it is in whole numbers: whoever asks `n - i < 3` and whoever asks
// `n <= i + 2` ask the same, though bits that come round would tell them apart.
Bits Evaluation::of(const std::vector<Bits>& arguments) {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const Expression::Step& step = expression_.steps[i];
    const PureNode& node = step.node;
    std::array<Bits, 3> from{};
    std::array<Wide, 3> exact{};
    for (std::size_t k = 0; k < from.size(); ++k)
      if (const int place = node.from[k]; node.op != PureOp::constant && step.kinds[k].bits > 0) {
        from[k] = place < 0 ? arguments[static_cast<std::size_t>(-1 - place)]
                            : results_[static_cast<std::size_t>(place)];
        exact[k] =
            place < 0 ? with_sign(from[k], step.kinds[k].bits) : exact_[static_cast<std::size_t>(place)];
      }
    if (node.op == PureOp::constant)
      results_[i] = node.constant;
    else if (node.op == PureOp::icmp)
      results_[i] = compare_integers(node.detail, from[0], from[1], exact[0], exact[1]);
    else
      results_[i] = evaluate(step, from[0], from[1], from[2]);
    const bool is_sum = node.op == PureOp::add || node.op == PureOp::sub;
    if (node.op == PureOp::sext)
      exact_[i] = exact[0];
    else if (is_sum && node.detail == NEVER_WRAPS)
      exact_[i] = node.op == PureOp::add ? exact[0] + exact[1] : exact[0] - exact[1];
    else
      exact_[i] = with_sign(results_[i], node.bits);
  }
  return results_.back();
}

} // namespace lathe::refactor
