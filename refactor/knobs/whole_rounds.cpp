#include "refactor/knobs/whole_rounds.h"

#include "refactor/knobs/strided_loop.h"

#include <clang/AST/Expr.h>

namespace lathe::refactor {

using namespace clang;

namespace {

// What a name that never changes stands for.
const Expr* behind_names(const KernelView& view, const Expr* expression) {
  constexpr int MOST_NAMES = 16;
  for (int i = 0; i < MOST_NAMES; ++i) {
    expression = expression->IgnoreParenCasts();
    const auto* reference = dyn_cast<DeclRefExpr>(expression);
    const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    if (!variable || isa<ParmVarDecl>(variable) || !variable->hasInit() || view.is_modified(variable))
      return expression;
    expression = variable->getInit();
  }
  return expression;
}

} // namespace

std::optional<WholeRounds> whole_rounds(const KernelView& view, const std::string& counter) {
  for (const StridedLoop& loop : strided_loops(view)) {
    if (!loop.counts_rounds() || view.atom_of(loop.counter) != counter)
      continue;
    const auto quotient = binary_parts(behind_names(view, loop.bound));
    if (!quotient || quotient->operation != BO_Div || view.evaluate(quotient->left).mentions("param:"))
      continue;
    return WholeRounds{quotient->left, quotient->right};
  }
  return std::nullopt;
}

} // namespace lathe::refactor
