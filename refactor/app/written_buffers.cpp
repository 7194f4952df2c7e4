#include "refactor/app/written_buffers.h"

#include "refactor/app/raw_source.h"
#include "refactor/knobs/buffer_accesses.h"
#include "refactor/knobs/kernel_view.h"

#include <algorithm>
#include <clang/AST/ExprCXX.h>
#include <fmt/format.h>
#include <variant>

namespace lathe::refactor {
namespace {

bool is_plain_pointer(clang::QualType type) {
  return type->isPointerType() && !type->getPointeeType().isConstQualified();
}

// p of an element of it that an expression is: p[i], *p, p[i].x.
const clang::Expr* address_of_element(const clang::Expr* expression) {
  expression = expression->IgnoreParens();
  while (const auto* member = clang::dyn_cast<clang::MemberExpr>(expression)) {
    if (member->isArrow())
      return nullptr;
    expression = member->getBase()->IgnoreParens();
  }
  if (const auto* subscript = clang::dyn_cast<clang::ArraySubscriptExpr>(expression))
    return subscript->getBase();
  const auto* unary = clang::dyn_cast<clang::UnaryOperator>(expression);
  return unary && unary->getOpcode() == clang::UO_Deref ? unary->getSubExpr() : nullptr;
}

// Whether a function, or one of those that a template's call may mean, takes the argument as what it can
// change.
bool may_take_reference(const clang::CallExpr& call, unsigned argument) {
  const auto takes = [&](const clang::NamedDecl* declared) {
    const clang::FunctionDecl* function = declared ? declared->getAsFunction() : nullptr;
    if (!function || argument >= function->getNumParams())
      return false;
    const clang::QualType type = function->getParamDecl(argument)->getType();
    return type->isLValueReferenceType() && !type->getPointeeType().isConstQualified();
  };
  if (const clang::FunctionDecl* callee = call.getDirectCallee())
    return takes(callee);
  const auto* overloads = clang::dyn_cast<clang::OverloadExpr>(call.getCallee()->IgnoreParenImpCasts());
  return overloads && std::any_of(overloads->decls_begin(), overloads->decls_end(), takes);
}

bool stores_to(const KernelView& view, const clang::ParmVarDecl* parameter) {
  const auto accesses = accesses_of(view, parameter, true);
  if (const auto* known = std::get_if<std::vector<BufferAccess>>(&accesses))
    if (std::ranges::any_of(*known, &BufferAccess::writes))
      return true;
  // To a function that may write there.
  bool found = false;
  view.visit([&](const clang::Stmt* statement) {
    const auto* call = clang::dyn_cast<clang::CallExpr>(statement);
    for (unsigned i = 0; call && i < call->getNumArgs(); ++i) {
      const clang::Expr* argument = call->getArg(i);
      const clang::Expr* address = address_of_element(argument);
      found |= (is_plain_pointer(argument->getType()) && view.base_pointer(argument) == parameter) ||
               (address && view.base_pointer(address) == parameter && may_take_reference(*call, i));
    }
  });
  return found;
}

} // namespace

void mark_written(Candidate& raw, const std::vector<std::string>& fixed, const ParseOptions& options,
                  std::vector<std::string>& notes) {
  const auto parsed = parse_raw(raw, options);
  if (!parsed)
    return;
  const KernelView view(*parsed->source, parsed->kernel);
  for (const clang::ParmVarDecl* parameter : parsed->kernel.declaration->parameters()) {
    const std::string name = parameter->getNameAsString();
    const auto argument = std::ranges::find(raw.arguments, name, &Argument::name);
    if (argument == raw.arguments.end() || !argument->is_buffer || argument->direction != Direction::in ||
        !is_plain_pointer(parameter->getType()) || std::ranges::find(fixed, name) != fixed.end() ||
        !stores_to(view, parameter))
      continue;
    argument->direction = Direction::inout;
    notes.push_back(
        fmt::format("{} is read and written, as the kernel's text says: no traced run wrote it (say "
                    "otherwise in a workload file)",
                    name));
  }
}

} // namespace lathe::refactor
