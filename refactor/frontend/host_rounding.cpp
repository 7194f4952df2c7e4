// Integers that launchers make of real numbers: rounded quotients, and logarithms and powers of two.
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

HostValue as_integer(HostValue value) {
  value.kind = HostValue::Kind::integer;
  return value;
}

// What a real number is, rounded down: numbers are sizes, which are no less than zero. Nothing where that is
// not to be told.
std::optional<HostValue> rounded_down(const HostValue& value) {
  if (value.is_whole())
    return as_integer(value);
  if (value.kind == HostValue::Kind::real && value.elements.size() == 2)
    return combine(BO_Div, value.elements[0], value.elements[1]);
  return std::nullopt;
}

bool is_named(const std::string& function, const std::string& name) {
  return function == name || function == name + "f";
}

// Whether an expression becomes an integer where it stands, without a cast that is written.
bool becomes_integer(const Expr* expression) {
  for (;;)
    if (const auto* parentheses = dyn_cast<ParenExpr>(expression))
      expression = parentheses->getSubExpr();
    else if (const auto* full = dyn_cast<FullExpr>(expression))
      expression = full->getSubExpr();
    else if (const auto* cast = dyn_cast<ImplicitCastExpr>(expression);
             cast && cast->getCastKind() != CK_FloatingToIntegral)
      expression = cast->getSubExpr();
    else
      return cast != nullptr;
}

} // namespace

std::optional<HostValue> HostReader::logarithm_of(const Expr* expression) {
  expression = plain(expression);
  while (const auto* cast = dyn_cast<ExplicitCastExpr>(expression)) {
    if (!cast->getTypeAsWritten()->isRealFloatingType())
      return std::nullopt;
    expression = plain(cast->getSubExprAsWritten());
  }
  const auto argument = [&](const Expr* of, const std::string& function) -> std::optional<HostValue> {
    const auto* called = dyn_cast<CallExpr>(plain(of));
    if (!called || called->getNumArgs() != 1 || !is_named(callee_name(called), function))
      return std::nullopt;
    HostValue value = evaluate(called->getArg(0));
    return value.is_whole() ? std::optional(as_integer(std::move(value))) : std::nullopt;
  };
  if (auto value = argument(expression, "log2"))
    return value;
  const auto* quotient = dyn_cast<BinaryOperator>(expression);
  if (!quotient || quotient->getOpcode() != BO_Div)
    return std::nullopt;
  const auto base = argument(quotient->getRHS(), "log");
  return base && base->text == "2" ? argument(quotient->getLHS(), "log") : std::nullopt;
}

std::optional<HostValue> HostReader::truncated(const Expr* expression) {
  if (const auto value = logarithm_of(expression))
    return call("floor_log2", {*value});
  const Expr* number = plain(expression);
  const auto* called = dyn_cast<CallExpr>(number);
  if (!called)
    return number->getType()->isRealFloatingType() ? rounded_down(evaluate(number)) : std::nullopt;
  const std::string function = callee_name(called);
  const bool has_base = called->getNumArgs() == 2 && is_named(function, "pow");
  if (!has_base && !(called->getNumArgs() == 1 && is_named(function, "exp2")))
    return std::nullopt;
  if (has_base && evaluate(called->getArg(0)).text != "2")
    return std::nullopt;
  const HostValue exponent = evaluate(called->getArg(has_base ? 1 : 0));
  return exponent.is_whole() ? std::optional(combine(BO_Shl, HostValue::integer("1"), as_integer(exponent)))
                             : std::nullopt;
}

std::optional<HostValue> HostReader::converted_where_it_stands(const Expr* expression) {
  return becomes_integer(expression) ? truncated(expression) : std::nullopt;
}

std::optional<HostValue> HostReader::rounded_call(const std::string& function,
                                                  llvm::ArrayRef<const Expr*> written) {
  const bool counts_in_64_bits = function == "__builtin_clzl" || function == "__builtin_clzll";
  if ((counts_in_64_bits || function == "__builtin_clz") && written.size() == 1) {
    const HostValue value = evaluate(written[0]);
    const char* const highest = counts_in_64_bits ? "63" : "31";
    return value.is_integer() ? combine(BO_Sub, HostValue::integer(highest), call("floor_log2", {value}))
                              : HostValue::unknown("");
  }
  const bool up = is_named(function, "ceil"), down = is_named(function, "floor");
  if ((!up && !down) || written.size() != 1)
    return std::nullopt;
  if (const auto value = logarithm_of(written[0])) // the next integer up: log2(2 n - 1) rounded down
    return call("floor_log2", {up ? combine(BO_Sub, combine(BO_Mul, HostValue::integer("2"), *value),
                                            HostValue::integer("1"))
                                  : *value});
  const HostValue value = evaluate(written[0]);
  if (up && !value.is_whole() && value.elements.size() == 2)
    return call("ceil_div", value.elements);
  if (auto rounded = rounded_down(value))
    return rounded;
  return HostValue::unknown("");
}

} // namespace lathe::refactor
