#include "refactor/guard/value_range.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>

namespace lathe::refactor {
namespace {

using namespace clang;

constexpr std::uint64_t LIMIT = std::uint64_t{1} << 32;

std::optional<std::uint64_t> within(std::uint64_t most) {
  return most < LIMIT ? std::optional(most) : std::nullopt;
}

// Every number up to `most`, with all lower bits set.
std::uint64_t bits_up_to(std::uint64_t most) {
  std::uint64_t bits = 0;
  while (bits < most)
    bits = 2 * bits + 1;
  return bits;
}

std::optional<std::uint64_t> most_of_two(BinaryOperatorKind operation, std::uint64_t one, std::uint64_t other,
                                         bool is_constant) {
  switch (operation) {
  case BO_Add:
    return within(one + other);
  case BO_Mul:
    return within(one * other); // of numbers below 2^32
  case BO_Or:
  case BO_Xor:
    return within(bits_up_to(one | other));
  case BO_Shl:
    return is_constant && other < 32 ? within(one << other) : std::nullopt;
  case BO_Shr:
    return is_constant && other < 32 ? std::optional(one >> other) : std::optional(one);
  default:
    return std::nullopt;
  }
}

} // namespace

std::optional<std::uint64_t> most_of(const Expr* expression, const ASTContext& context) {
  const Expr* bare = expression->IgnoreParenImpCasts();
  if (const auto* cast = dyn_cast<ExplicitCastExpr>(bare); cast && cast->getType()->isIntegerType())
    if (const auto inside = most_of(cast->getSubExpr(), context);
        inside && context.getTypeSize(cast->getType()) >= 32)
      return inside;
  Expr::EvalResult value;
  if (!bare->isValueDependent() && bare->getType()->isIntegerType() && bare->EvaluateAsInt(value, context))
    return value.Val.getInt().isNegative() ? std::nullopt : within(value.Val.getInt().getLimitedValue());
  if (const auto* operation = dyn_cast<BinaryOperator>(bare)) {
    const auto one = most_of(operation->getLHS(), context), other = most_of(operation->getRHS(), context);
    if (operation->getOpcode() == BO_And && (one || other)) // a mask above zero takes the sign away
      return one && other ? std::min(*one, *other) : one ? one : other;
    const bool is_constant = operation->getRHS()->EvaluateAsInt(value, context);
    return one && other ? most_of_two(operation->getOpcode(), *one, *other, is_constant) : std::nullopt;
  }
  const QualType type = bare->getType();
  return type->isUnsignedIntegerType() && context.getTypeSize(type) < 32
             ? std::optional((std::uint64_t{1} << context.getTypeSize(type)) - 1)
             : std::nullopt;
}

} // namespace lathe::refactor
