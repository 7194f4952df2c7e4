#include "refactor/guard/value_range.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <initializer_list>

namespace lathe::refactor {
namespace {

using namespace clang;

constexpr int WIDEST = 32; // bits of a type whose numbers are a range
constexpr int DEEPEST = 40;

using Range = std::optional<IntegerRange>;

bool is_within(const IntegerRange& inner, const IntegerRange& outer) {
  return inner.least >= outer.least && inner.most <= outer.most;
}

// Every number up to `most`, with all lower bits set.
std::int64_t bits_up_to(std::int64_t most) {
  std::int64_t bits = 0;
  while (bits < most)
    bits = 2 * bits + 1;
  return bits;
}

Range product(const IntegerRange& one, const IntegerRange& other) {
  IntegerRange range;
  bool is_first = true;
  for (const std::int64_t a : {one.least, one.most})
    for (const std::int64_t b : {other.least, other.most}) {
      std::int64_t number = 0;
      if (__builtin_mul_overflow(a, b, &number))
        return std::nullopt;
      range = is_first ? IntegerRange{number, number}
                       : IntegerRange{std::min(range.least, number), std::max(range.most, number)};
      is_first = false;
    }
  return range;
}

Range sum(const IntegerRange& one, const IntegerRange& other) {
  IntegerRange range;
  return __builtin_add_overflow(one.least, other.least, &range.least) ||
                 __builtin_add_overflow(one.most, other.most, &range.most)
             ? std::nullopt
             : Range(range);
}

Range difference(const IntegerRange& one, const IntegerRange& other) {
  IntegerRange range;
  return __builtin_sub_overflow(one.least, other.most, &range.least) ||
                 __builtin_sub_overflow(one.most, other.least, &range.most)
             ? std::nullopt
             : Range(range);
}

// By a number above zero.
Range remainder(const IntegerRange& one, std::int64_t divisor) {
  const std::int64_t most = std::min(divisor - 1, std::max(std::abs(one.least), std::abs(one.most)));
  return IntegerRange{one.least < 0 ? -most : 0, one.most > 0 ? most : 0};
}

Range masked(const IntegerRange& one, const IntegerRange& other) {
  if (one.least >= 0 && other.least >= 0)
    return IntegerRange{0, std::min(one.most, other.most)};
  if (one.least < 0 && other.least < 0)
    return std::nullopt;
  return IntegerRange{0, one.least >= 0 ? one.most : other.most}; // a mask above zero takes the sign away
}

// What two numbers of these ranges come to, if no type cuts it.
Range range_of_two(BinaryOperatorKind operation, const IntegerRange& one, const IntegerRange& other) {
  const bool are_natural = one.least >= 0 && other.least >= 0;
  const bool is_place = other.least >= 0 && other.most < WIDEST;
  switch (operation) {
  case BO_Add:
    return sum(one, other);
  case BO_Sub:
    return difference(one, other);
  case BO_Mul:
    return product(one, other);
  case BO_Div:
    return other.least > 0 ? Range({std::min(one.least / other.least, one.least / other.most),
                                    std::max(one.most / other.least, one.most / other.most)})
                           : std::nullopt;
  case BO_Rem:
    return other.least > 0 ? remainder(one, other.most) : std::nullopt;
  case BO_And:
    return masked(one, other);
  case BO_Or:
  case BO_Xor:
    return are_natural ? Range({0, bits_up_to(one.most | other.most)}) : std::nullopt;
  case BO_Shl:
    return are_natural && is_place && one.most < std::int64_t{1} << WIDEST
               ? Range({one.least << other.least, one.most << other.most})
               : std::nullopt;
  case BO_Shr:
    return is_place ? Range({std::min(one.least >> other.least, one.least >> other.most),
                             std::max(one.most >> other.least, one.most >> other.most)})
                    : std::nullopt;
  default:
    return std::nullopt;
  }
}

class RangeFinder {
public:
  explicit RangeFinder(const ASTContext& context) : context_(context) {}

  Range of(const Expr* expression, int depth) const {
    const Range all = range_of_type(expression->getType(), context_);
    if (depth == DEEPEST || expression->isValueDependent() || !expression->getType()->isIntegerType())
      return all;
    const Range found = computed(expression, depth + 1);
    // What a type has no room for comes round.
    const bool comes_round = found && ((all && !is_within(*found, *all)) ||
                                       (found->least < 0 && expression->getType()->isUnsignedIntegerType()));
    return found && !comes_round ? found : all;
  }

private:
  Range computed(const Expr* expression, int depth) const {
    Expr::EvalResult value;
    if (!expression->isValueDependent() && expression->EvaluateAsInt(value, context_)) {
      const auto& number = value.Val.getInt();
      return number.isRepresentableByInt64() ? Range({number.getExtValue(), number.getExtValue()})
                                             : std::nullopt;
    }
    if (const auto* inside = dyn_cast<ParenExpr>(expression))
      return of(inside->getSubExpr(), depth);
    if (const auto* cast = dyn_cast<CastExpr>(expression))
      return of(cast->getSubExpr(), depth);
    if (const auto* choice = dyn_cast<ConditionalOperator>(expression))
      return either(of(choice->getTrueExpr(), depth), of(choice->getFalseExpr(), depth));
    if (const auto* operation = dyn_cast<BinaryOperator>(expression)) {
      const Range one = of(operation->getLHS(), depth), other = of(operation->getRHS(), depth);
      return one && other ? range_of_two(operation->getOpcode(), *one, *other) : std::nullopt;
    }
    if (const auto* call = dyn_cast<CallExpr>(expression))
      return limited(call, depth);
    if (const auto* reference = dyn_cast<DeclRefExpr>(expression))
      if (const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
          variable && !isa<ParmVarDecl>(variable) && variable->hasLocalStorage() &&
          variable->getType().isConstQualified() && variable->hasInit())
        return of(variable->getInit(), depth);
    return std::nullopt;
  }

  static Range either(const Range& one, const Range& other) {
    return one && other ? Range({std::min(one->least, other->least), std::max(one->most, other->most)})
                        : std::nullopt;
  }

  // The lower or the higher of two numbers, by CUDA's functions.
  Range limited(const CallExpr* call, int depth) const {
    const FunctionDecl* callee = call->getDirectCallee();
    if (!callee || call->getNumArgs() != 2 || !callee->getDeclName().isIdentifier() ||
        context_.getSourceManager().isInMainFile(callee->getLocation()))
      return std::nullopt;
    const Range one = of(call->getArg(0), depth), other = of(call->getArg(1), depth);
    if (!one || !other)
      return std::nullopt;
    if (callee->getName() == "min")
      return IntegerRange{std::min(one->least, other->least), std::min(one->most, other->most)};
    if (callee->getName() == "max")
      return IntegerRange{std::max(one->least, other->least), std::max(one->most, other->most)};
    return std::nullopt;
  }

  const ASTContext& context_;
};

} // namespace

std::optional<IntegerRange> range_of_type(QualType type, const ASTContext& context) {
  if (type->isDependentType() || !type->isIntegerType())
    return std::nullopt;
  if (type->isBooleanType())
    return IntegerRange{0, 1};
  const auto bits = static_cast<int>(context.getTypeSize(type));
  if (bits > WIDEST)
    return std::nullopt;
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  return type->isSignedIntegerOrEnumerationType() ? IntegerRange{-half, half - 1}
                                                  : IntegerRange{0, 2 * half - 1};
}

std::optional<IntegerRange> range_of(const Expr* expression, const ASTContext& context) {
  return RangeFinder(context).of(expression, 0);
}

} // namespace lathe::refactor
